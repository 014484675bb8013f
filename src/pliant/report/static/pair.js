// Before and after of one garment: one of them, or both side by side, by one camera in one frame.

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
