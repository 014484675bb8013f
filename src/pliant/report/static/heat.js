// A garment coloured by penetration depth, visible through the body, and the intersection curves.

const heated = (source) => source.replace("#version 300 es", "#version 300 es\n#define HEAT");

const CUT_INKS = { own: [0.62, 0.05, 0.55], body: [0.10, 0.28, 0.80] }; // sRGB, as in check.css

// Segments of all frames, concatenated: offsets and end points.
async function decodeCuts(packed) {
  const out = {};
  for (const [name, { counts, ends, side }] of Object.entries(packed)) {
    const start = counts.reduce((sums, n) => [...sums, sums[sums.length - 1] + n], [0]);
    out[name] = { start, side, ends: new Float32Array(await unpack(ends, 4)) };
  }
  return out;
}

class HeatScene extends Scene {
  constructor(gl, clips, cuts, ramp) {
    super(gl, clips);
    this.lit = program(gl, heated(LIT_VERTEX), heated(LIT_FRAGMENT));
    this.cut = program(gl, STRIP_VERTEX, LINE_FRAGMENT);
    gl.useProgram(this.lit.made);
    gl.uniform3fv(this.lit.uniforms["ramp[0]"], new Float32Array(ramp.flat()));
    this.xray = true;
    this.curves = Object.entries(cuts).map(([name, kept]) => ({ ...kept, ink: CUT_INKS[name.split(" ")[0]], ...this.strip() }));
  }

  strip() {
    const { gl } = this, array = gl.createVertexArray(), buffer = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    for (const place of [0, 1]) {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 24, 12 * place);
      gl.vertexAttribDivisor(place, 1);
    }
    gl.bindVertexArray(null);
    return { array, buffer };
  }

  draw(frame, eye, project, options) {
    super.draw(frame, eye, project, options);
    const { gl } = this;
    gl.depthMask(false);
    if (this.xray) this.drawHidden(eye, project);
    this.drawCuts(frame, project);
    gl.depthMask(true);
  }

  // Draw occluded penetrating parts again, half transparent.
  drawHidden(eye, project) {
    const { gl } = this, lit = this.use(this.lit, project);
    gl.uniform3fv(lit.eye, eye);
    gl.uniform1f(lit.ghost, 0.8);
    gl.enable(gl.POLYGON_OFFSET_FILL); // same offset as the main pass, to avoid z-fighting
    gl.depthFunc(gl.GREATER);
    for (const drawing of this.shown.filter(({ heat }) => heat)) {
      gl.uniform3fv(lit.color, drawing.clip.color);
      gl.uniform1i(lit.open, drawing.clip.open ? 1 : 0);
      gl.uniform2f(lit.weave, 0, 12);
      drawing.drawSolid(gl);
    }
    gl.depthFunc(gl.LESS);
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.uniform1f(lit.ghost, 0);
  }

  drawCuts(frame, project) {
    const { gl } = this, line = this.use(this.cut, project);
    const pixels = Math.min(window.devicePixelRatio || 1, 2);
    gl.uniform2f(line.screen, ...this.area.slice(2));
    gl.uniform1f(line.width, 2.2 * pixels);
    for (const { start, side, ends, ink, array, buffer } of this.curves) {
      const count = start[frame + 1] - start[frame];
      if (!count || (side ?? this.side) !== this.side) continue;
      gl.bindVertexArray(array);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, ends.subarray(6 * start[frame], 6 * start[frame + 1]), gl.DYNAMIC_DRAW);
      for (const [order, alpha] of this.xray ? [[gl.GREATER, 0.3], [gl.LEQUAL, 0.95]] : [[gl.LEQUAL, 0.95]]) {
        gl.depthFunc(order);
        gl.uniform4f(line.ink, ...ink, alpha);
        gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
      }
    }
    gl.depthFunc(gl.LESS);
    gl.bindVertexArray(null);
  }
}
