// Displayed cloth: the subdivision of mesh/subdivision.py, applied to the positions of a frame.

async function decodeSubdivision(packed, clip) {
  const matrices = [], splits = [];
  for (const { counts, columns, weights } of packed.matrices) {
    matrices.push({
      counts: new Uint16Array(await unpack(counts, 2)),
      columns: sumRows(new Uint32Array(await unpack(columns, 4)), 1),
      weights: new Float32Array(await unpack(weights, 4)),
    });
  }
  for (const ends of packed.ends) splits.push(sumRows(new Uint32Array(await unpack(ends, 4)), 2));
  let { faces, count, uv } = clip;
  for (const ends of splits) {
    faces = splitFaces(faces, ends, count);
    uv = uv && midpoints(uv, ends, 2);
    count += ends.length / 2;
  }
  const weld = packed.weld ? sumRows(new Uint32Array(await unpack(packed.weld, 4)), 1) : null;
  return {
    faces, count, uv, weld, matrices, splits,
    rim: sumRows(new Uint8Array(await unpack(packed.rim, 1)), 1),
    deviation: packed.deviation ?? Infinity,
    products: matrices.map(({ counts }) => new Float32Array(3 * counts.length)),
    positions: new Float32Array(3 * count),
    normals: new Float32Array(3 * count),
  };
}

// The vertex between two ends of an edge: count + e for edge e.
function middleOf(ends, count) {
  const found = new Map(), key = (i, j) => Math.min(i, j) * 67108864 + Math.max(i, j); // below 2^53 for 2^26 vertices
  for (let e = 0; e < ends.length; e += 2) found.set(key(ends[e], ends[e + 1]), count + e / 2);
  return (i, j) => found.get(key(i, j));
}

// Faces split into four at the midpoints of their edges.
function splitFaces(faces, ends, count) {
  const between = middleOf(ends, count), out = new Uint32Array(4 * faces.length);
  for (let f = 0; f < faces.length; f += 3) {
    const a = faces[f], b = faces[f + 1], c = faces[f + 2], ab = between(a, b), bc = between(b, c), ca = between(c, a);
    out.set([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], 4 * f);
  }
  return out;
}

// Rows of `width` numbers, followed by the means of pairs of rows; into `out` if given, which may be `rows` itself.
function midpoints(rows, ends, width, out = new Float32Array(rows.length + (ends.length / 2) * width), start = rows.length) {
  if (out !== rows) out.set(rows);
  for (let e = 0, at = start; e < ends.length; e += 2) {
    const i = width * ends[e], j = width * ends[e + 1];
    for (let k = 0; k < width; k++) out[at++] = 0.5 * (out[i + k] + out[j + k]);
  }
  return out;
}

function product({ counts, columns, weights }, x, out) {
  for (let row = 0, at = 0, to = 0; row < counts.length; row++, to += 3) {
    let sx = 0, sy = 0, sz = 0;
    for (const end = at + counts[row]; at < end; at++) {
      const w = weights[at], from = 3 * columns[at];
      sx += w * x[from]; sy += w * x[from + 1]; sz += w * x[from + 2];
    }
    out[to] = sx; out[to + 1] = sy; out[to + 2] = sz;
  }
  return out;
}

// Positions of the displayed vertices: off the flat faces along the normal, on the boundary in any direction, and by
// `deviation` at most.
function fillSubdivided(fine, positions) {
  const { matrices, products, splits, rim, deviation, positions: x, normals: n } = fine;
  let smooth = positions, filled = positions.length;
  matrices.forEach((matrix, k) => { smooth = product(matrix, smooth, products[k]); });
  x.set(positions);
  for (const ends of splits) {
    midpoints(x, ends, 3, x, filled);
    filled += (ends.length / 2) * 3;
  }
  fillNormals({ ...fine, positions: smooth });
  for (let v = 0, i = 0; v < fine.count; v++, i += 3) {
    let dx = smooth[i] - x[i], dy = smooth[i + 1] - x[i + 1], dz = smooth[i + 2] - x[i + 2];
    if (!rim[v]) {
      const nx = n[i], ny = n[i + 1], nz = n[i + 2], s = (dx * nx + dy * ny + dz * nz) / (nx * nx + ny * ny + nz * nz || 1);
      dx = s * nx; dy = s * ny; dz = s * nz;
    }
    const far = Math.sqrt(dx * dx + dy * dy + dz * dz), share = far > deviation ? deviation / far : 1;
    x[i] += share * dx; x[i + 1] += share * dy; x[i + 2] += share * dz;
  }
}

// Edges of the simulated mesh as pairs of displayed vertices.
function splitEdges(edges, { fine, count }) {
  for (const ends of fine?.splits ?? []) {
    const between = middleOf(ends, count), halves = new Uint32Array(2 * edges.length);
    for (let e = 0; e < edges.length; e += 2) {
      const a = edges[e], b = edges[e + 1], m = between(a, b);
      halves.set([a, m, m, b], 2 * e);
    }
    edges = halves;
    count += ends.length / 2;
  }
  return edges;
}
