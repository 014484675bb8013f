// Decoder for report/pack.py: base64, deflate, byte planes, differences.

async function unpack(text, size) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / size;
  const bytes = new Uint8Array(planes.length);
  for (let b = 0; b < size; b++) {
    for (let i = 0, from = b * count; i < count; i++) bytes[i * size + b] = planes[from + i];
  }
  return bytes.buffer; // every platform with WebGL2 is little-endian
}

// Rows of `width` numbers stored as differences from the row before, in place.
function sumRows(values, width) {
  for (let i = width; i < values.length; i++) values[i] += values[i - width];
  return values;
}

// (T, 3, n) differences to multiples of the step: along the vertices, then twice along time; wraps at 65536.
function sumFrames(values, n) {
  for (let i = 0; i < values.length; i++) values[i] = (values[i] >>> 1) ^ -(values[i] & 1); // the sign is the lowest bit
  for (let row = 0; row < values.length; row += n) {
    for (let i = row + 1; i < row + n; i++) values[i] += values[i - 1];
  }
  for (const first of [2, 1]) {
    for (let i = 3 * n * first; i < values.length; i++) values[i] += values[i - 3 * n];
  }
  return values;
}

async function decodeClip(packed) {
  const n = packed.vertices;
  const clip = {
    name: packed.name,
    count: n,
    frameCount: packed.frameCount,
    moments: packed.frameCount, // number of distinct states: frames, or poses of the single frame
    poses: packed.poses ? new Float32Array(await unpack(packed.poses, 4)) : null,
    box: packed.box ?? [packed.low, packed.low.map((low, k) => low + packed.extent[k])],
    low: packed.low,
    extent: packed.extent,
    step: packed.step,
    base: packed.base, // lowest multiple of the step in each frame, per axis
    color: packed.color,
    open: packed.open,
    side: packed.side, // 0 before, 1 after; undefined: always
    faces: sumRows(new Uint32Array(await unpack(packed.faces, 4)), 3),
    weld: packed.weld ? sumRows(new Uint32Array(await unpack(packed.weld, 4)), 1) : null,
    heat: packed.heat ? sumRows(new Uint8Array(await unpack(packed.heat, 1)), n) : null, // wraps at 256
    uv: packed.uv ? new Float32Array(await unpack(packed.uv, 4)) : null,
    whole: sumFrames(new Uint16Array(await unpack(packed.frames, 2)), n),
    positions: new Float32Array(3 * n),
    normals: new Float32Array(3 * n),
  };
  if (clip.poses) clip.moments = clip.poses.length / 12;
  if (packed.subdivision) clip.fine = await decodeSubdivision(packed.subdivision, clip);
  if (packed.tubes) clip.fine = await decodeTubes(packed.tubes);
  return clip;
}

// One mesh per frame, concatenated: offsets, positions and faces.
async function decodeOverlay(packed) {
  const starts = (counts) => counts.reduce((sums, n) => [...sums, sums[sums.length - 1] + n], [0]);
  const vertexStart = starts(packed.vertices), faceStart = starts(packed.faces);
  const total = vertexStart[vertexStart.length - 1];
  const whole = new Uint16Array(await unpack(packed.whole, 2));
  const positions = new Float32Array(3 * total);
  for (let axis = 0; axis < 3; axis++) {
    const low = packed.low[axis], step = packed.extent[axis] / 65535;
    for (let i = 0, at = axis * total; i < total; i++, at++) {
      if (i) whole[at] += whole[at - 1]; // wraps at 65536
      positions[3 * i + axis] = low + whole[at] * step;
    }
  }
  const faces = sumRows(new Uint32Array(await unpack(packed.corners, 4)), 3);
  return { color: packed.color, vertexStart, faceStart, positions, faces };
}

// Positions of `frame` in metres, as x y z of each vertex; a still clip has one frame for all times.
function fillPositions(clip, frame) {
  const { whole, count, positions } = clip, still = clip.frameCount === 1 ? 0 : frame;
  for (let axis = 0; axis < 3; axis++) {
    const low = clip.low[axis], step = clip.step[axis], base = clip.base[still][axis];
    for (let i = 0, from = (3 * still + axis) * count; i < count; i++) positions[3 * i + axis] = low + (base + ((whole[from + i] - base) & 65535)) * step;
  }
  if (clip.poses) pose(positions, clip.poses.subarray(12 * (clip.moments === 1 ? 0 : frame)));
}

// Points x y z moved by a rigid transform, three rows of four numbers, in place.
function pose(points, p) {
  for (let i = 0; i < points.length; i += 3) {
    const x = points[i], y = points[i + 1], z = points[i + 2];
    for (let k = 0; k < 3; k++) points[i + k] = p[4 * k] * x + p[4 * k + 1] * y + p[4 * k + 2] * z + p[4 * k + 3];
  }
}

// Vertices of about twenty frames, at most a few thousand each, for fitting the view; without vertices that have
// fallen below the box.
function somePoints(clips) {
  const out = [];
  for (const clip of clips) {
    const stride = Math.ceil(clip.count / 3000), hop = Math.ceil(clip.moments / 20), low = clip.box[0][1] - 1e-4 * clip.extent[1];
    const frames = [];
    for (let frame = clip.moments - 1; frame >= 0; frame -= hop) frames.push(frame);
    for (const frame of [...frames, 0]) {
      fillPositions(clip, frame);
      for (let i = 0; i < 3 * clip.count; i += 3 * stride) if (clip.positions[i + 1] >= low) out.push(...clip.positions.subarray(i, i + 3));
    }
  }
  return out;
}

// Area-weighted normals, summed at welded vertices so that seams do not show.
function fillNormals(clip) {
  const { faces, positions: x, normals: n, weld } = clip;
  n.fill(0);
  const slot = weld ? (v) => 3 * weld[v] : (v) => 3 * v;
  for (let f = 0; f < faces.length; f += 3) {
    const a = 3 * faces[f], b = 3 * faces[f + 1], c = 3 * faces[f + 2];
    const ux = x[b] - x[a], uy = x[b + 1] - x[a + 1], uz = x[b + 2] - x[a + 2];
    const vx = x[c] - x[a], vy = x[c + 1] - x[a + 1], vz = x[c + 2] - x[a + 2];
    const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    for (let k = 0; k < 3; k++) {
      const at = slot(faces[f + k]);
      n[at] += nx; n[at + 1] += ny; n[at + 2] += nz;
    }
  }
  // welded rows are numbered by first appearance, so row weld[v] is never behind v: copy from the back
  if (weld) for (let v = clip.count - 1; v >= 0; v--) n.copyWithin(3 * v, 3 * weld[v], 3 * weld[v] + 3);
}
