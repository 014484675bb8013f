// A garment before and after the repair: one of them, or both side by side with the same camera and frame.

const SIDES = { before: [0], both: [0, 1], after: [1] };

class PairScene extends HeatScene {
  sides = SIDES.before;

  draw(frame, eye, project, options) {
    const { gl, sides } = this;
    const wide = Math.floor(gl.drawingBufferWidth / sides.length);
    sides.forEach((side, k) => {
      this.side = side;
      this.port = [k * wide, 0, wide, gl.drawingBufferHeight];
      super.draw(frame, eye, project, options);
    });
  }
}
