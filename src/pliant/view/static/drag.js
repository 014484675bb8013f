// Picking and dragging with the pointer: a ray is cast against the faces, and the grabbed point follows the pointer.

// The nearest face along the ray, { t (distance along it), body (index) }, or null. Brute force: twenty thousand faces take about a millisecond.
function castRay(bodies, from, along) {
  let best = Infinity, found = -1;
  const [ox, oy, oz] = from, [dx, dy, dz] = along;
  bodies.forEach((body, k) => {
    const { faces, positions: x } = body.fine?.strands ? body.fine : body;
    for (let f = 0; f < faces.length; f += 3) {
      const a = 3 * faces[f], b = 3 * faces[f + 1], c = 3 * faces[f + 2];
      const ax = x[a], ay = x[a + 1], az = x[a + 2];
      const ux = x[b] - ax, uy = x[b + 1] - ay, uz = x[b + 2] - az;
      const vx = x[c] - ax, vy = x[c + 1] - ay, vz = x[c + 2] - az;
      const px = dy * vz - dz * vy, py = dz * vx - dx * vz, pz = dx * vy - dy * vx;
      const det = ux * px + uy * py + uz * pz;
      if (det === 0) continue;
      const sx = ox - ax, sy = oy - ay, sz = oz - az;
      const s = (sx * px + sy * py + sz * pz) / det;
      if (!(s >= 0 && s <= 1)) continue;
      const qx = sy * uz - sz * uy, qy = sz * ux - sx * uz, qz = sx * uy - sy * ux;
      const t = (dx * qx + dy * qy + dz * qz) / det;
      if (!(t >= 0 && s + t <= 1)) continue;
      const reach = (vx * qx + vy * qy + vz * qz) / det;
      if (reach > 0 && reach < best) { best = reach; found = k; }
    }
  });
  return found < 0 ? null : { t: best, body: found };
}

class DragTool {
  // getState() returns the state of the page, or null while nothing can be dragged; send(command) sends to the server; requestDraw() redraws
  constructor(canvas, { getState, send, requestDraw }) {
    Object.assign(this, { canvas, getState, send, requestDraw });
    this.held = null; // { id, touch, at (the grabbed point), target, pointer, sent, since (serial), missed, taken }
    this.hover = null; // position of the pointer while no button is pressed
    const frame = canvas.parentElement;
    // capture phase: before the camera's listeners
    frame.addEventListener("pointerdown", (event) => this.down(event), true);
    frame.addEventListener("dblclick", (event) => { if (event.target === canvas && this.hit(event)) event.stopPropagation(); }, true);
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerleave", () => { this.hover = null; });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) canvas.addEventListener(name, (event) => { if (event.pointerId === this.held?.id) this.drop(); });
    addEventListener("blur", () => this.drop());
  }

  // Origin and direction of the ray through a window pixel.
  ray({ clientX, clientY }) {
    const { view } = this.getState(), box = this.canvas.getBoundingClientRect();
    const x = ((clientX - box.left) / box.width) * 2 - 1, y = 1 - ((clientY - box.top) / box.height) * 2;
    const [right, up, back] = basis(view.towards().map((v) => -v)), tan = Math.tan(FOV / 2);
    return { from: view.eye, along: unit(madd(madd(back.map((v) => -v), right, x * tan * view.aspect), up, y * tan)) };
  }

  // The first hit under the pointer, { from, along (the ray), at (the point) }; null if it is not on a deformable body.
  hit(event) {
    const state = this.getState();
    if (!state) return null;
    const { from, along } = this.ray(event), found = castRay(state.bodies, from, along);
    return found && state.deformable[found.body] ? { from, along, at: madd(from, along, found.t) } : null;
  }

  down(event) {
    if (event.target !== this.canvas) return;
    if (this.held) return this.second(event);
    if (event.button !== 0 || !this.getState()?.controls) return; // pages without the controls only orbit
    const found = this.hit(event);
    const { scene, frame } = this.getState();
    // a point far from the scene is out of range for the server
    if (!found || Math.hypot(...sub(found.at, scene.middle)) > 4 * scene.size) return;
    event.stopPropagation();
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const near = Math.min(scene.size, 0.99 * Math.hypot(...sub(found.at, found.from)));
    const pointer = { clientX: event.clientX, clientY: event.clientY };
    this.held = { id: event.pointerId, touch: event.pointerType === "touch", at: found.at, target: found.at, pointer, sent: found.at, pin: event.shiftKey, since: frame?.serial ?? 0, missed: frame?.header.missed ?? 0, taken: false };
    // start near the cloth: the camera may be outside the range that the server accepts
    this.send({ grab: madd(found.at, found.along, -near), along: found.along, pin: event.shiftKey });
    this.hover = null;
    this.cursor();
    this.requestDraw();
  }

  // A second finger controls the camera: the first one releases the cloth.
  second(event) {
    const { held } = this;
    if (!held.touch || event.pointerType !== "touch") return event.stopPropagation();
    this.drop();
    this.getState().view.pointers.set(held.id, [held.pointer.clientX, held.pointer.clientY]);
  }

  move(event) {
    const pointer = { clientX: event.clientX, clientY: event.clientY };
    if (event.pointerId === this.held?.id) this.held.pointer = pointer;
    else if (!event.buttons && event.pointerType !== "touch") this.hover = pointer;
    else return;
    this.requestDraw();
  }

  drop() {
    if (!this.held) return;
    this.pull();
    this.held = null;
    this.send({ let: "go" });
    this.cursor();
    this.requestDraw();
  }

  // Process the server's reply: the grab hit nothing, or was released by a restart.
  acknowledge(serial, { held, missed = 0 }) {
    if (!this.held || serial - this.held.since < 3) return; // that frame may precede the grab
    if (held) this.held.taken = true;
    else if (this.held.taken || missed > this.held.missed) this.drop();
  }

  // Clear the state without a release: the grab was not received, or the body no longer exists.
  forget() {
    this.held = null;
    this.cursor();
  }

  // Once per image: the target follows the pointer, in the screen-parallel plane through the grabbed point.
  tick() {
    if (this.held) this.pull();
    else if (this.hover) this.cursor();
  }

  pull() {
    if (!this.getState()) return; // the WebGL context is lost
    const { held } = this, { view, scene } = this.getState(), { from, along } = this.ray(held.pointer), back = view.towards();
    const t = dot(sub(held.at, from), back) / dot(along, back);
    const away = sub(madd(from, along, t), scene.middle), far = Math.hypot(...away), limit = 3 * scene.size;
    held.target = madd(scene.middle, away, far > limit ? limit / far : 1);
    if (Math.hypot(...sub(held.target, held.sent)) < 1e-5 * scene.size) return;
    held.sent = held.target;
    this.send({ pull: held.target });
  }

  cursor() {
    const over = this.hover && this.getState()?.controls && this.hit(this.hover);
    this.canvas.dataset.over = this.held ? "held" : over ? "deformable" : "";
  }
}
