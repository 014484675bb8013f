// Around the picture: charts that are clicked, places that are gone to, the ring around the one shown.

const spotButtons = [];
const plots = []; // { values, output, unit, cursor }
let shownSpot = -1;

function number(value, unit) {
  if (value === null) return "not known";
  const text = Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
  return unit ? `${text} ${unit}` : text;
}

function markSpot(k) {
  shownSpot = k;
  spotButtons.forEach((button, j) => button.setAttribute("aria-current", String(j === k)));
}

// To the frame of a place, looking at it from where it can be seen.
function goTo(k) {
  const spot = run.spots[k];
  if (!spot) return;
  const { view } = state;
  Object.assign(view, { azimuth: spot.azimuth, elevation: spot.elevation, target: [...spot.place], touched: true });
  view.distance = (1.25 * spot.radius) / (Math.tan(FOV / 2) * Math.min(1, view.aspect));
  markSpot(k);
  play(false);
  setFrame(spot.frame);
  spotButtons[k].scrollIntoView({ block: "nearest" });
}

function makeSpots() {
  for (const [k, spot] of run.spots.entries()) {
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
}

function path(points, kind) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "path");
  made.setAttribute("d", points);
  if (kind) made.setAttribute("class", kind);
  return made;
}

function makeChart({ name, unit, values }) {
  const last = run.frameCount - 1, top = Math.max(...values.map((v) => v ?? 0), 1e-12);
  const row = document.createElement("div"), label = document.createElement("p"), output = document.createElement("output");
  row.className = "chart";
  const most = document.createElement("small");
  most.textContent = `at most ${number(Math.max(...values.map((v) => v ?? 0)), unit)}`;
  label.append(name, output, most);
  const plot = document.createElement("div"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  plot.className = "plot";
  svg.setAttribute("viewBox", "0 0 1000 100");
  svg.setAttribute("preserveAspectRatio", "none");
  const line = values.map((v, k) => `${((1000 * k) / last).toFixed(2)} ${(100 - (92 * (v ?? 0)) / top).toFixed(2)}`).join("L");
  svg.append(path(`M0 100L${line}L1000 100Z`, "under"), path(`M${line}`));
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
  plots.push({ values, output, unit, cursor });
}

// Where a point is on the picture, CSS pixels; null behind the camera.
function onScreen(p) {
  const m = state.view.project, out = [0, 1, 3].map((r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
  if (out[2] <= 0) return null;
  return [((out[0] / out[2] + 1) / 2) * canvas.clientWidth, ((1 - out[1] / out[2]) / 2) * canvas.clientHeight];
}

function showAround() {
  const { frame } = state, last = Math.max(run.frameCount - 1, 1);
  for (const { values, output, unit, cursor } of plots) {
    output.textContent = number(values[frame], unit);
    cursor.style.left = `${(100 * frame) / last}%`;
  }
  $("clock").innerHTML = `<b>frame ${run.numbers[frame]}</b> <span class="total">· ${seconds(frame)} s</span>`;
  const spot = run.spots[shownSpot], at = spot && spot.frame === frame ? onScreen(spot.place) : null;
  $("ring").hidden = !at;
  if (at) Object.assign($("ring").style, { left: `${at[0]}px`, top: `${at[1]}px` });
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
  const worst = run.spots[0];
  if (worst) markSpot(0);
  setFrame(worst ? worst.frame : 0); // all of it first; a click goes near
}

Object.assign(window.pliant, { goTo, seeThrough, get spot() { return shownSpot; }, ready: window.pliant.ready.then(begin) });
