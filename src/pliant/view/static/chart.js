// Milliseconds of each stage of a frame (0.01 s), stacked, and contacts, over the last ten seconds.

const STAGES = {
  move: "#c9a45f", predict: "#8fa5c9", relax: "#4f8ef0", "relax in contact": "#2f62b8", detect: "#f0973f", respond: "#e0525c", guard: "#9a70e2", finish: "#4fb387", "end of frame": "#a9afbb",
};
const SPAN = 10000; // ms

// The smallest 1, 2 or 5 times a power of ten that is at least `value`.
function roundUp(value) {
  const ten = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 2, 5, 10].map((k) => k * ten).find((top) => top >= value * 0.999);
}

class Chart {
  constructor(canvas, rows) {
    Object.assign(this, { canvas, rows, samples: [], cells: new Map(), drawn: 0, written: 0 });
    this.smooth = {};
    this.tops = [1, 10]; // of the two scales, ms and contacts
  }

  clear() {
    this.smooth = {};
    this.tops = [1, 10];
  }

  add(now, { ms, contacts }) {
    const stages = {};
    for (const [name, value] of Object.entries(ms)) {
      if (!Number.isFinite(value)) continue;
      const before = this.smooth[name] ?? value;
      stages[name] = this.smooth[name] = before + (value - before) * 0.25;
    }
    for (const name of Object.keys(this.smooth)) if (!(name in stages)) delete this.smooth[name];
    this.samples.push({ now, stages, contacts });
    while (this.samples.length && this.samples[0].now < now - SPAN - 500) this.samples.shift();
    if (now - this.drawn > 60) this.draw(now);
    if (now - this.written > 250) this.list(now);
  }

  list(now) {
    this.written = now;
    const names = Object.keys(this.smooth);
    for (const [name, cell] of this.cells) if (!names.includes(name)) { cell.row.remove(); this.cells.delete(name); }
    for (const name of names) {
      if (!this.cells.has(name)) this.cells.set(name, this.row(name));
      this.cells.get(name).value.textContent = this.smooth[name].toFixed(this.smooth[name] < 9.95 ? 1 : 0);
    }
  }

  row(name) {
    const row = document.createElement("li"), mark = document.createElement("i"), value = document.createElement("b");
    mark.style.background = STAGES[name] ?? "#888";
    row.append(mark, `${name} `, value);
    this.rows.append(row);
    return { row, value };
  }

  draw(now) {
    this.drawn = now;
    const { canvas } = this, ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    if (canvas.width !== Math.round(width * ratio)) Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const pen = canvas.getContext("2d"), style = getComputedStyle(canvas);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = `11px ${style.fontFamily}`;
    const split = Math.round(height * 0.62), gap = 14, names = Object.keys(STAGES).filter((name) => name in this.smooth);
    names.push(...Object.keys(this.smooth).filter((name) => !(name in STAGES)));
    const across = ({ now: then }) => width - ((now - then) / SPAN) * width;
    const most = this.samples.reduce(([ms, contacts], s) => [Math.max(ms, this.total(s)), Math.max(contacts, s.contacts)], [0.5, 5]);
    this.tops = this.tops.map((top, k) => Math.max(most[k], top + (roundUp(most[k] * 1.05) - top) * 0.2));
    this.axis(pen, width, 0, split, style);
    this.axis(pen, width, split + gap, height, style);
    this.stack(pen, names, across, split);
    this.line(pen, across, split + gap, height, style.getPropertyValue("--accent"));
    const [ms, contacts] = most.map((value) => String(Number(roundUp(value * 1.05).toPrecision(2))));
    this.write(pen, style, `${ms} ms`, 11);
    this.write(pen, style, `${contacts} contacts`, split + gap + 10);
  }

  // Legible on top of the curves.
  write(pen, style, text, y) {
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeStyle = style.getPropertyValue("--card");
    pen.strokeText(text, 2, y);
    pen.fillStyle = style.color;
    pen.fillText(text, 2, y);
  }

  total({ stages }) { return Object.values(stages).reduce((sum, value) => sum + value, 0); }

  axis(pen, width, from, to, style) {
    pen.strokeStyle = style.getPropertyValue("--edge");
    pen.lineWidth = 1;
    pen.beginPath();
    for (const y of [from, (from + to) / 2, to]) { pen.moveTo(0, Math.round(y) - 0.5); pen.lineTo(width, Math.round(y) - 0.5); }
    pen.stroke();
  }

  stack(pen, names, across, floor) {
    const scale = floor / this.tops[0];
    let below = this.samples.map(() => 0);
    for (const name of names) {
      const above = this.samples.map((sample, k) => below[k] + (sample.stages[name] ?? 0));
      pen.beginPath();
      this.samples.forEach((sample, k) => pen.lineTo(across(sample), floor - above[k] * scale));
      for (let k = this.samples.length - 1; k >= 0; k--) pen.lineTo(across(this.samples[k]), floor - below[k] * scale);
      pen.fillStyle = STAGES[name] ?? "#888";
      pen.fill();
      below = above;
    }
  }

  line(pen, across, ceiling, floor, ink) {
    const scale = (floor - ceiling) / this.tops[1];
    pen.beginPath();
    for (const sample of this.samples) pen.lineTo(across(sample), floor - sample.contacts * scale);
    pen.strokeStyle = pen.fillStyle = ink;
    pen.lineWidth = 1.6;
    pen.lineJoin = "round";
    pen.stroke();
    if (!this.samples.length) return;
    pen.lineTo(across(this.samples[this.samples.length - 1]), floor);
    pen.lineTo(across(this.samples[0]), floor);
    pen.globalAlpha = 0.14;
    pen.fill();
    pen.globalAlpha = 1;
  }
}
