// The page: draws received frames and sends commands; tests access its state through `window.pliant`.

const $ = (id) => document.getElementById(id);
const stage = $("stage"), canvas = $("picture");
const night = matchMedia("(prefers-color-scheme: dark)");
const state = {
  hello: null, scene: null, view: null, bodies: [], deformable: [], // of each body, whether it can be dragged
  frame: null, encodedFrame: null, // the newest frame, decoded, and its encoded data
  drawnFrame: null, // the frame on the page
  waiting: true, // for the first frame after a greeting, or after a choice that was sent
  ignoredGeneration: -1, // that of the greeting before the choice: its frames do not end the waiting
  connected: false, controls: true, wire: false, open: true, readingsAt: 0,
};
const QUALITY_LEVELS = [[24, 1], [10, 0.7], [10, 0.5]]; // shadow map samples per pixel, image pixels per screen pixel
const quality = { level: 0, ratio: 1, slowness: 16, asked: 0, since: 0, settle: 0 }; // slowness: ms from requesting an image to drawing it
let pending = 0, resolveReady = () => {};

function say(text) { $("message").textContent = text; }

function requestDraw() {
  if (pending || !state.scene || !state.view) return;
  quality.asked = performance.now();
  pending = requestAnimationFrame(draw);
}

function resize() {
  const ratio = Math.min(window.devicePixelRatio || 1, 2) * quality.ratio;
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
}

// On a slow machine moving images are coarser; a still image has full quality.
function adaptQuality() {
  const now = performance.now(), { slowness, level } = quality;
  quality.slowness += (Math.min(now - quality.asked, 1000) - slowness) * 0.15;
  const wanted = slowness > 45 ? Math.min(level + 1, QUALITY_LEVELS.length - 1) : slowness < 12 ? Math.max(level - 1, 0) : level;
  if (wanted !== level && now - quality.since > 1500) Object.assign(quality, { level: wanted, since: now });
  setQuality(quality.level);
  clearTimeout(quality.settle);
  if (quality.level) quality.settle = setTimeout(() => { if (state.scene && !pending) { setQuality(0); paint(); } }, 300 + 2 * slowness);
}

function setQuality(level) {
  [state.scene.taps, quality.ratio] = QUALITY_LEVELS[level];
  resize();
}

// The newest frame that belongs to the greeting on the page, decoded once.
function latest() {
  const { newest } = link;
  if (newest && newest !== state.encodedFrame && newest.generation === state.hello?.generation) {
    state.encodedFrame = newest;
    state.frame = decodeFrame(newest.data);
    state.frame.serial = newest.serial;
  }
  return state.frame;
}

function draw(now) {
  pending = 0;
  if (!state.scene) return;
  const frame = latest();
  if (frame && frame !== state.drawnFrame) {
    state.drawnFrame = frame;
    state.scene.take(frame);
    dragTool.acknowledge(frame.serial, frame.header);
    updateReadings(frame.header, now);
  }
  dragTool.tick();
  adaptQuality();
  paint();
  if (frame) resolveReady();
}

function paint() {
  const { scene, view, frame } = state, drag = frame?.arrays.drag;
  const point = drag && frame.header.held ? [...drag.subarray(0, 3)] : null;
  if (dragTool.held) scene.dragLine = [point ?? dragTool.held.at, dragTool.held.target];
  else scene.dragLine = point ? [point, [...drag.subarray(3, 6)]] : null;
  scene.draw(view.eye, view.project, { wire: state.wire, dark: night.matches });
}

// True if two greetings have the same meshes.
function haveSameMeshes(a, b) {
  return a?.scene === b.scene && a.bodies.length === b.bodies.length && a.bodies.every((body, k) => body.faces === b.bodies[k].faces && body.vertices === b.bodies[k].vertices);
}

// A greeting: other meshes, or the same meshes with another method, which keep their positions until the next frame.
async function enter(hello) {
  const same = haveSameMeshes(state.hello, hello), bodies = same ? state.bodies : await Promise.all(hello.bodies.map(decodeClip));
  if (hello !== enter.newest) return; // superseded by a newer one
  Object.assign(state, { hello, bodies, deformable: hello.deformable, waiting: true, ignoredGeneration: -1, encodedFrame: null });
  if (!same) show(hello, bodies);
  const title = hello.title.includes(" ") ? hello.title : hello.title.replaceAll("-", " ").replace(/^./, (first) => first.toUpperCase());
  $("title").textContent = title;
  document.title = `${title} · pliant play`;
  panel.build(hello);
  for (const id of ["bar", "readings"]) $(id).hidden = false;
  setPanelOpen(state.open);
  requestDraw();
}

function show(hello, bodies) {
  state.frame = null;
  dragTool.forget();
  state.scene.enter(bodies, hello.moving, hello.box);
  const { middle, size } = state.scene, points = somePoints(bodies);
  if (!state.view) state.view = new View(canvas, points, middle, size, hello.elevation, requestDraw);
  Object.assign(state.view, { points, middle, size, home: hello.elevation, head: innerHeight > 420 ? 50 : 0 }); // the readings cover the top
  state.view.reset();
  chart.clear();
}

const MESSAGES = { // what each text of the server does
  hello(hello) { enter.newest = hello; enter(hello).catch((error) => problem(error.message)); },
  note,
  warning: problem,
  problem(text) { state.ignoredGeneration = -1; problem(text); settleNote(); },
  ended() { clearTimeout(problem.timer); }, // the reason stays
  refused(text) { state.ignoredGeneration = -1; problem(text); settleNote(); dragTool.forget(); if (state.hello) panel.build(state.hello); },
  controls(has) { state.controls = has; $("watching").hidden = has; },
};

function onMessage(message) {
  for (const [name, value] of Object.entries(message)) MESSAGES[name]?.(value);
}

function onClose(code, reason, wait) {
  state.connected = false;
  state.waiting = true;
  document.body.classList.add("gone");
  dragTool.forget();
  note("");
  const why = reason || (code === 1006 ? "no response" : `code ${code}`);
  const failure = code === 503 ? `The server is full: ${why}` : `Lost the connection to the server (${why}).`;
  say(`${failure} Retrying ${wait < 1000 ? "now" : `in ${Math.round(wait / 1000)} s`} …`);
}

function onOpen() {
  state.connected = true;
  document.body.classList.remove("gone");
  say(state.hello ? "" : "Connected, waiting for the scene …");
}

function send(command) {
  if ("choose" in command && ["scene", "method", "self_method"].includes(command.choose)) {
    Object.assign(state, { waiting: true, ignoredGeneration: state.hello.generation });
    note(SWITCHING);
  }
  problem("");
  const sent = link.send(command);
  if (sent && state.controls) updateGreeting(command);
  return sent;
}

// Keep the greeting current: the server sends no new one after these commands.
function updateGreeting({ set, show, to, on, level }) {
  const { ranges, overlays } = state.hello ?? {};
  if (ranges?.[set]) ranges[set].now = to;
  if (overlays?.[show]) Object.assign(overlays[show], { on, level: level ?? overlays[show].level });
}

function setPanelOpen(open) {
  state.open = open;
  $("panel").hidden = !open || !state.hello;
  document.body.classList.toggle("open", open);
  $("fold").setAttribute("aria-pressed", String(open));
}

const act = (what) => () => send({ do: what });
const ACTS = {
  pause: () => send({ do: state.frame?.header.paused ? "go" : "pause" }),
  step: act("step"), reset: act("reset"), keep: act("keep"), drop: act("drop"),
  record: () => send({ do: state.frame?.header.recording > 0 ? "keep" : "record" }),
  free: () => send({ free: "pins" }),
  wire() { state.wire = !state.wire; $("wire").setAttribute("aria-pressed", String(state.wire)); requestDraw(); },
  home: () => state.view.reset(),
  help() { $("keys").hidden = !$("keys").hidden; $("help").setAttribute("aria-pressed", String(!$("keys").hidden)); },
  fold: () => setPanelOpen(!state.open),
};
const KEYS = { " ": "pause", s: "step", r: "reset", e: "record", p: "free", w: "wire", v: "home", "?": "help", h: "fold" };
const HELP = [
  ["drag the cloth", "pull it"], ["shift-drag", "pin it there"], ["drag elsewhere", "orbit; two fingers pan and zoom"],
  ["right-drag, wheel", "pan, zoom"], ["space, S, R", "pause, single step, restart"], ["M", "next method"],
  ["C N D X F L", "contacts, normals, data structures, slice, layers"], ["E, P", "record and save, free pins"], ["W, V, H", "wireframe, whole scene, controls"],
];

function press(event) {
  const { target } = event, tag = target.tagName;
  if (event.ctrlKey || event.metaKey || event.altKey || tag === "SELECT" || target.type === "text") return;
  if (event.key === " " && (["BUTTON", "SUMMARY"].includes(tag) || (["checkbox", "radio"].includes(target.type) && !target.checked))) return; // the element handles the key itself
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const overlay = Object.keys(SHOW_KEYS).find((name) => SHOW_KEYS[name] === key);
  if (key === "Escape") { dragTool.drop(); if (!$("keys").hidden) ACTS.help(); return; }
  if (!state.hello || !(KEYS[key] || overlay || key === "m")) return;
  event.preventDefault();
  if (KEYS[key]) ACTS[KEYS[key]]();
  else if (overlay) panel.toggleOverlay(overlay);
  else panel.nextMethod(event.shiftKey ? -1 : 1);
}

function addListeners() {
  for (const [id, does] of Object.entries(ACTS)) $(id).onclick = does;
  addEventListener("keydown", press);
  // a button clicked by mouse must not keep the keyboard focus
  addEventListener("click", (event) => { if (event.detail && event.target.closest("button, .chip")) canvas.focus({ preventScroll: true }); });
  new ResizeObserver(() => {
    resize();
    if (!state.view) return;
    if (!state.view.touched) state.view.fit();
    paint(); // immediately: a resized canvas is empty until drawn
  }).observe(canvas);
  night.addEventListener("change", requestDraw);
  canvas.addEventListener("webglcontextlost", (event) => {
    event.preventDefault();
    state.scene = null;
    say("The WebGL context was lost. Reload the page to continue.");
  });
  $("keys").append(...HELP.map(([how, what]) => make("p", {}, make("kbd", {}, how), what)));
}

const panel = new Panel(send), chart = new Chart($("chart"), $("stages"));
const dragTool = new DragTool(canvas, { getState: () => (state.view && state.scene && state.connected ? state : null), send, requestDraw });
let link = { newest: null, delivered: 0, rate: new Rate(), send: () => false };

function start() {
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true });
  if (!gl) throw new Error("This page needs WebGL 2, which this browser does not support or has disabled.");
  if (typeof DecompressionStream === "undefined") throw new Error("This page needs a browser of 2023 or later.");
  state.scene = new LiveScene(gl);
  state.open = innerWidth > 760;
  addListeners();
  const address = new URL(`link${location.search}`, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  link = new Link(address.href, { onMessage, onFrame: requestDraw, onClose, onOpen });
  return new Promise((done) => { resolveReady = done; });
}

window.pliant = {
  ready: (async () => start())().catch((error) => { say(error.message); throw error; }), // when the first frame is drawn
  get state() {
    const { connected, waiting, controls, wire, hello } = state, { paused, recording, pins, held } = latest()?.header ?? {};
    return { connected, waiting, controls, wire, paused, recording, pins, held, dragging: !!dragTool.held, generation: hello?.generation, scene: hello?.scene, chosen: { ...hello?.chosen } };
  },
  get header() { return latest()?.header ?? null; },
  get serial() { return latest()?.serial ?? -1; },
  get delivered() { return link.delivered; },
  get rate() { return link.rate.at(performance.now()); },
  get view() { const { azimuth, elevation, distance, target } = state.view; return { azimuth, elevation, distance, target: [...target] }; },
  // positions of a body's vertices in the newest frame, metres; `body`: its index
  positions(body) { return Array.from(latest()?.arrays[`x${body}`] ?? state.bodies[body].positions); },
  // the window pixel of a point
  project(point) {
    const m = state.view.project, box = canvas.getBoundingClientRect();
    const [x, y, , w] = [0, 1, 2, 3].map((r) => m[r] * point[0] + m[4 + r] * point[1] + m[8 + r] * point[2] + m[12 + r]);
    return [box.left + (x / w * 0.5 + 0.5) * box.width, box.top + (0.5 - y / w * 0.5) * box.height];
  },
  // the point of the cloth at a window pixel, or null
  pick(clientX, clientY) { latest(); return dragTool.hit({ clientX, clientY })?.at ?? null; },
  send,
};
