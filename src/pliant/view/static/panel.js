// The controls, built from the server's description of the scene.

const SHOW_KEYS = { contacts: "c", normals: "n", structure: "d", self_structure: "x", slice: "f", layers: "l" };
const FRACTIONS = { "1/4": "¼×", "1/2": "½×" };
const MENUS = { scene: "Scene", method: "Detection", self: "Self-contact", self_method: "Its detection", response: "Response", stepping: "Substeps" };

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const SUPER = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// Three significant digits; two before a power of ten.
function legible(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e-3 && size < 1e5) return String(Number(value.toPrecision(3)));
  const power = Math.floor(Math.log10(size));
  return `${Number((value / 10 ** power).toPrecision(2))}×10${[...String(power)].map((c) => SUPER[c]).join("")}`;
}

// A value with its unit; small lengths in millimetres.
function measured(value, unit) {
  return unit === "m" && Math.abs(value) < 0.1 ? `${legible(1000 * value)} mm` : `${legible(value)} ${unit}`.trim();
}

// The name of a method without its options.
function named(method) {
  return (method ?? "").split(":")[0];
}

// A slider of a thousand steps; `log`: logarithmic scale.
class Slider {
  constructor(name, range, value, changed) {
    Object.assign(this, { name, range, home: range.value, changed });
    this.output = make("output");
    this.input = make("input", { type: "range", min: 0, max: 1000, step: 1, id: `set-${name}`, title: `Double-click: reset to ${measured(range.value, range.unit)}` });
    this.input.oninput = () => this.set(this.at(Number(this.input.value) / 1000));
    this.input.ondblclick = () => this.set(this.home);
    this.element = make("label", { className: "slider" }, make("span", {}, range.label), this.output, this.input);
    this.show(value);
  }

  get log() { return this.range.log && this.range.low > 0; }

  at(t) {
    const { low, high } = this.range;
    const value = this.log ? low * (high / low) ** t : low + (high - low) * t;
    return Math.min(high, Math.max(low, t > 0 && t < 1 ? Number(value.toPrecision(4)) : value));
  }

  show(value) {
    const { low, high, unit } = this.range, text = measured(value, unit);
    this.value = value;
    this.input.value = 1000 * (this.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
    this.input.setAttribute("aria-valuetext", text);
    this.output.textContent = text;
    this.element.classList.toggle("moved", value !== this.home);
  }

  set(value) {
    this.show(value);
    this.changed(this.name, value);
  }
}

class Panel {
  constructor(send) {
    this.send = send;
    this.pending = new Map();
    this.shown = {};
    this.structures = {};
    this.moreOpen = {};
  }

  build(hello) {
    const focused = document.activeElement?.id;
    this.hello = hello;
    this.chosen = { ...hello.chosen };
    $("menus").replaceChildren(this.menu("scene"), this.chips("method"), this.options("method"));
    $("ways").replaceChildren(this.menu("self"), this.menu("response"), this.menu("stepping"), this.menu("self_method"), this.options("self_method"));
    this.sliders = Object.entries(hello.ranges).map(([name, range]) => new Slider(name, range, range.now, (...set) => this.later(...set)));
    $("sliders").replaceChildren(...this.sliders.map(({ element }) => element));
    this.overlays(hello.overlays);
    const speeds = (hello.choices.speed ?? []).map(([value, text]) => make("option", { value, textContent: FRACTIONS[text] ?? `${text}×` }));
    $("speed").replaceChildren(...speeds);
    $("speed").hidden = !speeds.length;
    $("speed").value = hello.chosen.speed ?? "";
    $("speed").onchange = () => this.choose("speed", $("speed").value);
    if (focused) $(focused)?.focus({ preventScroll: true });
  }

  choose(what, to) {
    if (to !== this.chosen[what]) this.send({ choose: what, to });
    this.chosen[what] = to;
  }

  menu(what) {
    const rows = this.hello.choices[what] ?? [];
    const select = make("select", { id: `choose-${what}` }, ...rows.map(([value, text, why]) => make("option", { value, textContent: text, disabled: !!why, title: why })));
    select.value = named(this.hello.chosen[what]);
    select.onchange = () => { this.choose(what, select.value); $("picture").focus({ preventScroll: true }); };
    return make("div", { className: "menu", hidden: rows.length < 2 }, make("label", { htmlFor: select.id }, MENUS[what]), select, this.reasons(rows));
  }

  // One button per method, to switch quickly while the scene runs.
  chips(what) {
    const rows = this.hello.choices[what] ?? [], chosen = named(this.hello.chosen[what]);
    const chip = ([value, text]) => {
      const input = make("input", { type: "radio", name: what, value, id: `${what}-${value}`, checked: value === chosen });
      input.onchange = () => this.choose(what, value);
      return make("label", { className: "chip" }, input, make("span", {}, text));
    };
    const field = make("fieldset", { className: "menu", hidden: !rows.length }, make("legend", {}, MENUS[what]));
    field.append(make("div", { className: "chips" }, ...rows.filter(([, , why]) => !why).map(chip)), this.reasons(rows));
    return field;
  }

  // The options of a method that list their values, where a row has the method with that option, and those to type.
  options(what) {
    const prefix = what === "method" ? "" : "self-", values = this.hello.values?.[what] ?? {};
    const menus = Object.entries(this.hello.options?.[what] ?? {}).map(([name, rows]) => {
      const option = ([value, text, chosen, why]) => make("option", { value, textContent: why ? `${text} (not here)` : text, selected: chosen, disabled: !!why, title: why ?? "" });
      const select = make("select", { id: `${prefix}option-${name}` }, ...rows.map(option));
      select.onchange = () => { this.choose(what, select.value); $("picture").focus({ preventScroll: true }); };
      return make("div", { className: "menu" }, make("label", { htmlFor: select.id }, name.replaceAll("_", " ")), select);
    });
    const more = Object.entries(values).map(([name, { text, fallback, wanted }]) => {
      const field = make("input", { type: "text", id: `${prefix}value-${name}`, value: text, placeholder: fallback, title: `${wanted}; empty: ${fallback}`, spellcheck: false, autocomplete: "off" });
      field.onchange = () => this.choose(what, this.withValue(what, name, field.value.trim()));
      return make("div", { className: "menu" }, make("label", { htmlFor: field.id, title: wanted }, name.replaceAll("_", " ")), field);
    });
    const set = Object.values(values).some(({ text }) => text);
    const details = make("details", { open: this.moreOpen[what] || set, hidden: !more.length }, make("summary", {}, "more options"), make("div", { className: "grid" }, ...more));
    details.ontoggle = () => { this.moreOpen[what] = details.open; };
    return make("div", { className: "options", hidden: !menus.length && !more.length }, ...menus, details);
  }

  // The chosen method as text with another value of an option, the default if it is empty; the server checks it.
  withValue(what, option, value) {
    const [, given = ""] = this.chosen[what].split(/:(.*)/s), name = named(this.chosen[what]);
    const kept = given.split(",").filter((part) => part && part.split("=")[0] !== option);
    const all = value ? [...kept, `${option}=${value}`] : kept;
    return all.length ? `${name}:${all.join(",")}` : name;
  }

  reasons(rows) {
    const not = rows.filter(([, , why]) => why);
    if (!not.length) return "";
    const list = make("dl", {}, ...not.flatMap(([, text, why]) => [make("dt", {}, text), make("dd", {}, why)]));
    return make("details", {}, make("summary", {}, not.length === 1 ? "1 not available here" : `${not.length} not available here`), list);
  }

  overlays(overlays) {
    this.shown = {};
    this.structures = {};
    const rows = Object.entries(overlays).map(([name, { label, levels, on, level }]) => {
      const key = SHOW_KEYS[name], box = make("input", { type: "checkbox", id: `show-${name}`, checked: on });
      const slider = make("input", { type: "range", min: 0, max: levels, step: 1, value: level, id: `level-${name}`, disabled: !on });
      slider.setAttribute("aria-label", `level of ${label}`);
      const output = make("output", { textContent: levels ? level : "" });
      const tell = (moved) => {
        slider.disabled = !box.checked;
        output.textContent = levels ? slider.value : "";
        // the server chooses the first level of a data structure
        this.send({ show: name, on: box.checked, ...(levels && (moved || !structure) ? { level: Number(slider.value) } : {}) });
      };
      const structure = name.endsWith("structure");
      if (structure) this.structures[name] = { slider, output, levels: -1 };
      box.onchange = () => tell(false);
      slider.oninput = () => { output.textContent = slider.value; this.pending.set(`show ${name}`, () => tell(true)); this.ask(); };
      this.shown[name] = box;
      const text = make("label", { className: "chip", title: key ? `${label} (${key.toUpperCase()})` : label }, box, make("span", {}, label));
      return make("div", { className: levels ? "overlay levelled" : "overlay" }, text, ...(levels ? [slider, output] : []));
    });
    $("overlays").replaceChildren(make("legend", {}, "Show"), ...rows);
    $("overlays").hidden = !rows.length;
  }

  // The levels of a data structure are those of the method, and may change with it.
  showStructure(name, { level, levels }) {
    const structure = this.structures[name];
    if (!structure) return;
    const { slider, output } = structure;
    if (structure.levels !== levels) {
      structure.levels = levels;
      slider.max = levels;
      slider.style.visibility = output.style.visibility = levels ? "visible" : "hidden";
    }
    if (document.activeElement !== slider && !this.pending.has(`show ${name}`)) slider.value = level;
    output.textContent = levels ? slider.value : "";
  }

  toggleOverlay(name) { this.shown[name]?.click(); }

  // Choose the next available method, for a key.
  nextMethod(by) {
    const rows = (this.hello.choices.method ?? []).filter(([, , why]) => !why);
    const at = rows.findIndex(([value]) => value === named(this.chosen.method));
    if (rows.length > 1) $(`method-${rows[(at + by + rows.length) % rows.length][0]}`).click();
  }

  // At most once per image, however fast a slider is moved.
  later(name, value) {
    this.pending.set(name, () => this.send({ set: name, to: value }));
    this.ask();
  }

  ask() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      for (const act of this.pending.values()) act();
      this.pending.clear();
    });
  }
}
