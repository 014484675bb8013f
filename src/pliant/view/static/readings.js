// The figures in the header of a frame, and the messages of the server.

const readings = {};
function read(id, text) {
  if (readings[id] === text) return;
  readings[id] = text;
  $(id).textContent = text;
}

// Show the figures of a new frame; most of them five times per second.
function updateReadings(header, now) {
  if (state.waiting && state.hello.generation !== state.ignoredGeneration) { state.waiting = false; settleNote(); say(""); }
  chart.add(now, header);
  stage.classList.toggle("playing", !header.paused);
  stage.classList.toggle("taping", header.recording > 0);
  $("recording").hidden = !(header.recording > 0);
  $("record").setAttribute("aria-pressed", String(header.recording > 0));
  $("free").hidden = !header.pins;
  read("frames", `${header.recording} frame${header.recording === 1 ? "" : "s"}`);
  read("free", header.pins === 1 ? "free the pin" : `free ${header.pins} pins`);
  read("clock", `${header.time.toFixed(2)} s`);
  if (now - state.readingsAt < 200) return;
  state.readingsAt = now;
  read("read-rate", link.rate.at(performance.now()).toFixed(0));
  read("read-speed", `${header.speed < 0.995 ? header.speed.toFixed(2) : header.speed.toFixed(1)}×`);
  read("read-contacts", String(header.contacts));
  $("deep").classList.toggle("bad", header.deepest > 0);
  read("read-deepest", header.deepest === null ? "–" : header.deepest.toFixed(header.deepest < 9.95 ? 2 : 1));
  const { deepest } = state.scene.frameOverlays, colours = "depths" in state.frame.arrays;
  $("legend").hidden = !colours;
  if (colours) read("legend-most", `${legible(1000 * deepest)} mm`);
  showLegend(header.structure);
}

// What is drawn of data structures; the words for its colours have these colours.
function showLegend(structures = {}) {
  const seen = Object.entries(structures), text = seen.map(([, { legend }]) => legend).join("\n");
  for (const [name, levels] of seen) panel.showStructure(name, levels);
  $("seen").hidden = !seen.length;
  if (readings.seen === text) return;
  readings.seen = text;
  const words = text.split(/\b(blue|orange)\b/);
  $("seen").replaceChildren(...words.map((word) => (["blue", "orange"].includes(word) ? make("b", { className: word, textContent: word }) : word)));
}

// A note that ends in dots (in progress) stays until the next note; others disappear after a while.
function note(text) {
  const busy = /(\.\.\.|…)$/.test(text);
  $("note").textContent = text;
  $("note").hidden = !text;
  $("note").classList.toggle("busy", busy);
  clearTimeout(note.timer);
  if (!busy) note.timer = setTimeout(() => note(""), 6000);
}

// The page's own note, until the server sends one.
const SWITCHING = "switching …";
function settleNote() { if ($("note").textContent === SWITCHING) note(""); }

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
  clearTimeout(problem.timer);
  if (text) problem.timer = setTimeout(() => problem(""), 12000);
}
