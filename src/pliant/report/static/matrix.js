// 4x4 matrices in the column order of WebGL, and the little vector algebra the view needs.

const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const madd = (a, b, s) => [a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const d = Math.hypot(...a) || 1; return [a[0] / d, a[1] / d, a[2] / d]; };

function multiply(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++) {
    for (let r = 0; r < 4; r++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
      out[4 * c + r] = sum;
    }
  }
  return out;
}

// Rows right, up, back of a camera that looks along `forward`.
function basis(forward) {
  const back = unit(forward.map((v) => -v));
  const near = Math.abs(back[1]) > 0.999 ? [0, 0, -1] : [0, 1, 0];
  const right = unit(cross(near, back));
  return [right, cross(back, right), back];
}

function lookAt(eye, target) {
  const [r, u, b] = basis(sub(target, eye));
  return new Float32Array([r[0], u[0], b[0], 0, r[1], u[1], b[1], 0, r[2], u[2], b[2], 0, -dot(r, eye), -dot(u, eye), -dot(b, eye), 1]);
}

function perspective(fov, aspect, near, far) {
  const f = 1 / Math.tan(fov / 2), d = near - far;
  return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / d, -1, 0, 0, 2 * far * near / d, 0]);
}

// Parallel rays along -z of a camera at the origin of its own frame; x, y in +-half, z in -depth..depth.
function parallel(half, depth) {
  return new Float32Array([1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, -1 / depth, 0, 0, 0, 0, 1]);
}
