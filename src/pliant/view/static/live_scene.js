// The scene of the page: bodies whose positions arrive with each frame, and the overlays on them.

class LiveScene extends Scene {
  constructor(gl) {
    super(gl, []);
    this.frameOverlays = new Overlays(gl);
    this.current = { arrays: {}, shapes: {} };
    this.version = 0; // of the drawn content, passed as the number of the frame: another one uploads positions again
    this.dragLine = null; // [point, target] of the drag constraint
  }

  // The bodies of another scene, each a clip of one frame, its start; `box`: bounding box of the scene at its start.
  enter(bodies, moving, box) {
    bodies.forEach((body, k) => {
      fillPositions(body, 0);
      // `Drawing` uploads a clip of one moment only once; with any other number, whenever the frame number (`version`) changes
      if (moving[k]) Object.assign(body, { live: true, moments: Infinity });
    });
    this.load(bodies, [box, ...bodies.map((body) => body.box)]);
    this.current = { arrays: {}, shapes: {} };
    this.version++;
  }

  take(frame) {
    this.drawings.forEach(({ clip: body }, k) => {
      const x = frame.arrays[`x${k}`];
      if (x?.length === 3 * body.count) body.positions = x;
    });
    this.current = frame;
    this.version++;
  }

  draw(eye, project, options) {
    super.draw(this.version, eye, project, options);
    this.frameOverlays.draw(this.current, this.dragLine, project, { ...options, size: this.size, eye });
  }
}
