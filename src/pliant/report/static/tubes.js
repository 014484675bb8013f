// Displayed strands: the tubes of mesh/tubes.py around the lines of a frame.

async function decodeTubes({ radius, sides, order, start }) {
  const strands = { order: sumRows(new Uint32Array(await unpack(order, 4)), 1), start: sumRows(new Uint32Array(await unpack(start, 4)), 1) };
  const faces = [], count = sides * strands.order.length;
  for (let k = 0; k + 1 < strands.start.length; k++) {
    const first = sides * strands.start[k], last = sides * (strands.start[k + 1] - 1);
    for (let at = first; at < last; at += sides) {
      for (let j = 0; j < sides; j++) {
        const a = at + j, b = at + (j + 1) % sides;
        faces.push(a, b, b + sides, a, b + sides, a + sides);
      }
    }
    for (let j = 1; j + 1 < sides; j++) faces.push(first, first + j + 1, first + j, last, last + j, last + j + 1);
  }
  return { strands, radius, sides, count, faces: new Uint32Array(faces), weld: null, positions: new Float32Array(3 * count), normals: new Float32Array(3 * count) };
}

// A vector across t: the axis that is most perpendicular to it, projected.
function anyNormal(t) {
  const size = t.map(Math.abs), k = size.indexOf(Math.min(...size)), axis = [0, 0, 0];
  axis[k] = 1;
  return madd(axis, t, -t[k]);
}

// Rings of points around the points of each strand, without twist.
function fillTubes({ strands: { order, start }, radius, sides, positions: out }, x) {
  const point = (i) => [x[3 * order[i]], x[3 * order[i] + 1], x[3 * order[i] + 2]];
  for (let k = 0; k + 1 < start.length; k++) {
    const first = start[k], last = start[k + 1] - 1;
    let across = [0, 0, 0];
    for (let i = first; i <= last; i++) {
      let t = sub(point(Math.min(i + 1, last)), point(Math.max(i - 1, first)));
      t = Math.hypot(...t) > 0 ? unit(t) : [0, 1, 0];
      let n = madd(across, t, -dot(across, t));
      if (Math.hypot(...n) < 1e-6) n = anyNormal(t);
      across = unit(n);
      const side = cross(t, across), p = point(i);
      for (let j = 0; j < sides; j++) {
        const angle = (2 * Math.PI * j) / sides, c = radius * Math.cos(angle), s = radius * Math.sin(angle);
        for (let axis = 0; axis < 3; axis++) out[3 * (sides * i + j) + axis] = p[axis] + c * across[axis] + s * side[axis];
      }
    }
  }
}
