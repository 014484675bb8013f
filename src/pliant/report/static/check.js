// Controls around the view: clickable charts, the list of locations, and the ring around the selected one.

const spotButtons = [];
const plots = []; // { values, after, output, unit, cursor }
let shownSpot = -1;

function number(value, unit) {
  if (value === null) return "unknown";
  const text = Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
  return unit ? `${text} ${unit}` : text;
}

function markSpot(k) {
  shownSpot = k;
  spotButtons.forEach((button, j) => button.setAttribute("aria-current", String(j === k)));
}

// Go to the frame of a location, with a camera that sees it.
function goTo(k) {
  const spot = run.spots[k];
  if (!spot) return;
  const { view } = state;
  Object.assign(view, { azimuth: spot.azimuth, elevation: spot.elevation, target: [...spot.place], touched: true });
  view.distance = (1.25 * spot.radius) / (Math.tan(FOV / 2) * Math.min(1, view.aspect));
  markSpot(k);
  canvas.dispatchEvent(new Event("gone")); // other scripts react to it
  play(false);
  setFrame(spot.frame);
  spotButtons[k].scrollIntoView({ block: "nearest" });
}

function spotRow(text) {
  const row = document.createElement("li");
  row.className = "word";
  row.textContent = text;
  $("spots").append(row);
}

function makeSpots() {
  for (const [k, spot] of run.spots.entries()) {
    if (spot.group && spot.group !== run.spots[k - 1]?.group) spotRow(spot.group);
    const button = document.createElement("button"), title = document.createElement("b"), detail = document.createElement("span");
    button.type = "button";
    title.textContent = spot.title;
    detail.textContent = spot.detail;
    button.append(title, detail);
    button.onclick = () => goTo(k);
    const row = document.createElement("li");
    row.append(button);
    $("spots").append(row);
    spotButtons.push(button);
  }
  if (run.unlisted) spotRow(`and ${run.unlisted.toLocaleString("en")} more of lower severity`);
}

function path(points, kind) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "path");
  made.setAttribute("d", points);
  if (kind) made.setAttribute("class", kind);
  return made;
}

function makeChart({ name, unit, values, after }) {
  const last = run.frameCount - 1, largest = (some) => some.reduce((most, v) => Math.max(most, v ?? 0), 0);
  const top = Math.max(largest(values), largest(after ?? []), 1e-12);
  const row = document.createElement("div"), label = document.createElement("p"), output = document.createElement("output");
  row.className = "chart";
  const most = document.createElement("small");
  most.textContent = `at most ${number(largest(values), after ? "" : unit)}${after ? ` → ${number(largest(after), unit)}` : ""}`;
  label.append(name, output, most);
  const plot = document.createElement("div"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  plot.className = "plot";
  svg.setAttribute("viewBox", "0 0 1000 100");
  svg.setAttribute("preserveAspectRatio", "none");
  for (const [some, kind] of [[values, after ? "before" : ""], [after, "after"]]) {
    if (!some) continue;
    const line = some.map((v, k) => `${((1000 * k) / last).toFixed(2)} ${(100 - (92 * (v ?? 0)) / top).toFixed(2)}`).join("L");
    svg.append(path(`M0 100L${line}L1000 100Z`, `under ${kind}`), path(`M${line}`, kind));
  }
  const cursor = document.createElement("i");
  plot.append(svg, cursor);
  const jump = (event) => {
    const box = plot.getBoundingClientRect();
    play(false);
    setFrame(((event.clientX - box.left) / box.width) * last);
  };
  plot.onpointerdown = (event) => { plot.setPointerCapture(event.pointerId); jump(event); };
  plot.onpointermove = (event) => { if (event.buttons & 1) jump(event); };
  row.append(label, plot);
  $("charts").append(row);
  plots.push({ values, after, output, unit, cursor });
}

// Position of a point in the view, or in one of two views side by side, in CSS pixels; null behind the camera.
function onScreen(p, part = 0) {
  const m = state.view.project, out = [0, 1, 3].map((r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
  if (out[2] <= 0) return null;
  return [((out[0] / out[2] + 1) / 2 + part) * (canvas.clientWidth / state.view.parts), ((1 - out[1] / out[2]) / 2) * canvas.clientHeight];
}

function showAround() {
  const { frame } = state, last = Math.max(run.frameCount - 1, 1);
  for (const { values, after, output, unit, cursor } of plots) {
    output.textContent = number(values[frame], after ? "" : unit) + (after ? ` → ${number(after[frame], unit)}` : "");
    cursor.style.left = `${(100 * frame) / last}%`;
  }
  $("clock").innerHTML = `<b>frame ${run.numbers[frame]}</b> <span class="total">· ${seconds(frame)} s</span>`;
  const spot = run.spots[shownSpot];
  document.querySelectorAll(".ring").forEach((ring, part) => {
    const at = spot && spot.frame === frame && part < state.view.parts ? onScreen(spot.place, part) : null;
    ring.hidden = !at;
    if (at) Object.assign(ring.style, { left: `${at[0]}px`, top: `${at[1]}px` });
  });
}

function seeThrough(on) {
  state.scene.xray = on;
  $("xray").checked = on;
  changed();
}

KEYS.x = () => seeThrough(!state.scene.xray);
KEYS.n = () => goTo(Math.min(shownSpot + 1, run.spots.length - 1));
KEYS.p = () => goTo(Math.max(shownSpot - 1, 0));

function begin() {
  play(false);
  makeSpots();
  if (run.frameCount > 1) run.series.forEach(makeChart);
  $("charts").hidden = !plots.length;
  $("xray").onchange = (event) => seeThrough(event.target.checked);
  canvas.addEventListener("drawn", showAround);
  const worst = run.spots[run.opens ?? 0];
  if (worst) markSpot(run.opens ?? 0);
  setFrame(worst ? worst.frame : 0); // whole garment first; a click zooms in
}

Object.assign(window.pliant, { goTo, seeThrough, ready: window.pliant.ready.then(begin) });
Object.defineProperty(window.pliant, "spot", { get: () => shownSpot });
