// The player: time, buttons, keys; and `window.pliant`, the interface for tests and other scripts.

const $ = (id) => document.getElementById(id);
const run = JSON.parse($("run").textContent);
const stage = $("stage"), canvas = $("picture"), timeline = $("timeline");
const night = matchMedia("(prefers-color-scheme: dark)");
const state = {
  frame: 0, playing: false, loop: true, wire: false, speed: 1, clips: [], scene: null, view: null,
  readings: [], // table cells with one text per frame, and the texts
  since: 0, // when the frame shown was due, ms
  drawn: 0, // when it was last drawn, ms
  slowness: 16, // ms between drawings while playing, smoothed
};
let pending = 0;

function say(text) { $("message").textContent = text; }

function seconds(frame) { return (frame / run.fps).toFixed(2); }

function resize() {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
}

function changed() {
  if (!pending && state.scene) pending = requestAnimationFrame(draw);
}

// Fewer shadow samples while a slow machine plays; full quality when paused.
function pace(now) {
  const took = Math.min(now - state.drawn, 1000);
  state.drawn = now;
  if (state.playing) state.slowness += (took - state.slowness) * 0.2;
  state.scene.taps = state.playing && state.slowness > 70 ? 10 : 24;
}

function draw(now) {
  pending = 0;
  if (!state.scene) return;
  pace(now);
  if (state.playing) advance(now);
  const { view } = state;
  state.scene.draw(state.frame, view.eye, view.project, { wire: state.wire, dark: night.matches });
  showTime();
  canvas.dispatchEvent(new Event("drawn")); // for the elements around the view
  if (state.playing) changed();
}

// Playback follows wall-clock time: a slow machine skips frames, a fast one draws each frame repeatedly.
function advance(now) {
  const due = Math.floor(((now - state.since) / 1000) * run.fps * state.speed);
  if (due <= 0) return;
  state.since += (due * 1000) / (run.fps * state.speed);
  const next = state.frame + due;
  if (next < run.frameCount) state.frame = next;
  else if (state.loop) state.frame = next % run.frameCount;
  else { state.frame = run.frameCount - 1; play(false); }
}

function showTime() {
  timeline.value = state.frame;
  const text = `${seconds(state.frame)} s, frame ${state.frame + 1} of ${run.frameCount}`;
  timeline.setAttribute("aria-valuetext", text);
  for (const [cell, values] of state.readings) cell.textContent = values[state.frame];
  $("clock").innerHTML = `<b>${seconds(state.frame)} s</b> <span class="total">· ${state.frame + 1}/${run.frameCount}</span>`;
}

function play(on) {
  state.playing = on && run.frameCount > 1;
  if (state.playing && !state.loop && state.frame === run.frameCount - 1) state.frame = 0;
  state.since = performance.now();
  stage.classList.toggle("playing", state.playing);
  changed();
}

function setFrame(index) {
  state.frame = Math.min(run.frameCount - 1, Math.max(0, Math.round(Number(index) || 0)));
  state.since = performance.now();
  changed();
}

function step(by) {
  play(false);
  setFrame(state.frame + by);
}

function toggle(name, on) {
  state[name] = on ?? !state[name];
  $(name).setAttribute("aria-pressed", String(state[name]));
  changed();
}

function showFacts(on) {
  $("facts").hidden = !on;
  $("info").setAttribute("aria-pressed", String(on));
}

const KEYS = {
  " ": () => play(!state.playing),
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  Home: () => step(-run.frameCount),
  End: () => step(run.frameCount),
  r: () => state.view.reset(),
  l: () => toggle("loop"),
  w: () => toggle("wire"),
  i: () => showFacts($("facts").hidden),
};

function listen() {
  $("play").onclick = () => play(!state.playing);
  $("loop").onclick = () => toggle("loop");
  $("wire").onclick = () => toggle("wire");
  $("reset").onclick = () => state.view.reset();
  $("info").onclick = () => showFacts($("facts").hidden);
  $("speed").onchange = (event) => { state.speed = Number(event.target.value); state.since = performance.now(); };
  timeline.oninput = () => { play(false); setFrame(timeline.value); };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    if (event.key === " " && event.target.tagName === "BUTTON") return; // handled by the button itself
    const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  new ResizeObserver(() => {
    resize();
    if (!state.view.touched) state.view.fit();
    if (pending) cancelAnimationFrame(pending);
    draw(performance.now()); // immediately: a resized canvas is blank until drawn
  }).observe(canvas);
  night.addEventListener("change", changed);
  canvas.addEventListener("webglcontextlost", (event) => {
    event.preventDefault();
    state.scene = null;
    say("The WebGL context was lost. Reload the page to continue.");
  });
}

function fillFacts() {
  for (const [name, value] of run.facts) {
    const row = $("facts").insertRow(), head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    row.append(head);
    row.insertCell().textContent = value;
  }
  for (const [name, values] of run.readings ?? []) {
    const row = $("facts").insertRow(), head = document.createElement("th"), cell = row.insertCell();
    head.scope = "row";
    head.textContent = name;
    row.prepend(head);
    row.className = "reading";
    state.readings.push([cell, values]);
  }
  const rows = $("facts").rows.length;
  if (!rows) $("info").hidden = true;
  showFacts(rows > 0 && innerWidth > 1000 && innerHeight > 600); // smaller, they would cover what moves
}

async function start() {
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true });
  if (!gl) throw new Error("This replay needs WebGL2, which this browser does not support or has disabled.");
  if (typeof DecompressionStream === "undefined") throw new Error("This replay needs a browser of 2023 or later.");
  for (const packed of run.clips) state.clips.push(await decodeClip(packed));
  const overlays = await Promise.all((run.overlays ?? []).map(decodeOverlay));
  if (run.curves) state.scene = new (run.pair ? PairScene : HeatScene)(gl, state.clips, await decodeCuts(run.curves), run.ramp);
  else state.scene = new Scene(gl, state.clips, overlays);
  state.view = new View(canvas, somePoints(state.clips), state.scene.middle, state.scene.size, run.elevation, changed);
  timeline.max = run.frameCount - 1;
  stage.classList.toggle("single", run.frameCount === 1);
  fillFacts();
  $("bar").hidden = false;
  say("");
  listen();
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
}

window.pliant = {
  frameCount: run.frameCount,
  get frame() { return state.frame; },
  get playing() { return state.playing; },
  get view() { const { azimuth, elevation, distance, target } = state.view; return { azimuth, elevation, distance, target: [...target] }; },
  setFrame(index) { play(false); setFrame(index); },
  play,
  // positions of the clip's vertices in the frame shown, metres
  positions(clip) { fillPositions(state.clips[clip], state.frame); return Array.from(state.clips[clip].positions); },
  // positions of the vertices that are drawn in the frame shown, after subdivision, metres
  displayed(clip) { return Array.from(state.scene.drawings[clip].shape.positions); },
  ready: start().catch((error) => { say(error.message); throw error; }),
};
