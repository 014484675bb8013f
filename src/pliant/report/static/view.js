// The interactive camera: orbit, pan and zoom by mouse, wheel or touch.

const FOV = 0.55; // radians, vertical

class View {
  // `points` x y z of what must be seen, `middle` and `size` of the box around it
  constructor(canvas, points, middle, size, home, changed) {
    this.home = home; // the elevation it starts at, radians
    Object.assign(this, { canvas, points, middle, size, changed });
    this.pointers = new Map();
    this.head = 0; // pixels covered at the top
    this.parts = 1; // pictures side by side on the canvas
    // inside a notebook the wheel scrolls the notebook until the view has been clicked
    this.engaged = window === window.parent;
    this.reset();
    const on = (name, act, options) => canvas.addEventListener(name, act.bind(this), options);
    on("pointerdown", this.down);
    on("pointermove", this.move);
    for (const name of ["pointerup", "pointercancel"]) on(name, this.up);
    on("pointerleave", () => { this.engaged = window === window.parent; });
    on("wheel", this.wheel, { passive: false });
    on("dblclick", this.reset);
    on("contextmenu", (event) => event.preventDefault());
  }

  get aspect() {
    return (this.canvas.clientWidth || 1) / this.parts / (this.canvas.clientHeight || 1);
  }

  reset() {
    this.azimuth = 0.6;
    this.elevation = this.home;
    this.touched = false;
    this.fit();
    this.changed();
  }

  // The nearest camera in this direction that sees all points, with room for the bar below. A point is inside when
  // -down (d - p.back) <= p.up - t <= rise (d - p.back): wedges whose apexes give the shift t and the distance d.
  fit() {
    const [right, up, back] = basis(this.towards().map((v) => -v));
    const tan = Math.tan(FOV / 2), side = tan * this.aspect * 0.9;
    const bar = Math.min(0.5, 150 / (this.canvas.clientHeight || 1)); // twice its height, as a part of the picture's half
    const rise = tan * (0.88 - (2 * this.head) / (this.canvas.clientHeight || 1)), down = tan * (0.95 - bar);
    let east = -Infinity, west = Infinity, high = -Infinity, low = Infinity;
    const { points, middle } = this;
    for (let i = 0; i < points.length; i += 3) {
      const p = [points[i] - middle[0], points[i + 1] - middle[1], points[i + 2] - middle[2]];
      const x = dot(p, right), y = dot(p, up), z = dot(p, back);
      east = Math.max(east, x + side * z);
      west = Math.min(west, x - side * z);
      high = Math.max(high, y + rise * z);
      low = Math.min(low, y - down * z);
    }
    const distance = Math.max((east - west) / (2 * side), (high - low) / (rise + down)) || 1;
    this.distance = distance;
    this.target = madd(madd(middle, right, (east + west) / 2), up, (high - rise * distance + low + down * distance) / 2);
  }

  towards() {
    const flat = Math.cos(this.elevation);
    return [flat * Math.sin(this.azimuth), Math.sin(this.elevation), flat * Math.cos(this.azimuth)];
  }

  get eye() {
    return madd(this.target, this.towards(), this.distance);
  }

  get project() {
    const eye = this.eye;
    const far = this.distance + 4 * this.size, near = Math.max(this.distance - 2 * this.size, this.distance / 100);
    return multiply(perspective(FOV, this.aspect, near, far), lookAt(eye, this.target));
  }

  orbit(dx, dy) {
    this.azimuth -= dx * 0.008;
    this.elevation = Math.min(1.55, Math.max(-1.2, this.elevation + dy * 0.008));
  }

  pan(dx, dy) {
    const [right, up] = basis(this.towards().map((v) => -v));
    const metres = (2 * Math.tan(FOV / 2) * this.distance) / this.canvas.clientHeight;
    this.target = madd(madd(this.target, right, -dx * metres), up, dy * metres);
  }

  zoom(factor) {
    this.distance = Math.min(20 * this.size, Math.max(0.02 * this.size, this.distance * factor));
  }

  down(event) {
    this.engaged = true;
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    const dx = now[0] - before[0], dy = now[1] - before[1];
    if (this.pointers.size === 1) {
      if (event.buttons & 6 || event.shiftKey) this.pan(dx, dy);
      else this.orbit(dx, dy);
    } else {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const span = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      this.zoom(span(before) / span(now));
      this.pan(dx / 2, dy / 2);
    }
    this.pointers.set(event.pointerId, now);
    this.touched = true;
    this.changed();
  }

  up(event) {
    this.pointers.delete(event.pointerId);
  }

  wheel(event) {
    if (!this.engaged && !event.ctrlKey) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY * lines)) * 0.0015));
    this.touched = true;
    this.changed();
  }
}
