// Draws clips with WebGL2: shadow maps of the sun and of six sky directions, a height map, the meshes, the floor, lines.

const SUN = unit([-0.56, 1.15, 0.82]);
// around the sky, at an elevation of 30 degrees
const DOME = [0, 1, 2, 3, 4, 5].map((k) => [0.866 * Math.cos(0.3 + (k * Math.PI) / 3), 0.5, 0.866 * Math.sin(0.3 + (k * Math.PI) / 3)]);
const DOME_TILE = 128; // pixels

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(made));
  const uniforms = {};
  const count = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS);
  for (let k = 0; k < count; k++) {
    const { name } = gl.getActiveUniform(made, k);
    uniforms[name] = gl.getUniformLocation(made, name);
  }
  return { made, uniforms };
}

function filter(gl, smaller, larger) {
  for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, smaller);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, larger);
}

function shadowMap(gl, size, height = size) {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, size, height);
  filter(gl, gl.NEAREST, gl.NEAREST);
  const frame = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  return { texture, frame, size };
}

// A map of heights as colours with mipmaps, and a depth buffer to render it.
function heightMap(gl, size) {
  const texture = gl.createTexture(), frame = gl.createFramebuffer(), depth = gl.createRenderbuffer();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 7, gl.RGBA8, size, size);
  filter(gl, gl.LINEAR_MIPMAP_NEAREST, gl.LINEAR);
  gl.bindRenderbuffer(gl.RENDERBUFFER, depth);
  gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT24, size, size);
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, depth);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  return { texture, frame, size };
}

// Edges as pairs of vertices, each once.
function edgesOf(faces) {
  const seen = new Set(), out = [];
  for (let f = 0; f < faces.length; f += 3) {
    for (let k = 0; k < 3; k++) {
      const a = faces[f + k], b = faces[f + (k + 1) % 3];
      const key = Math.min(a, b) * 67108864 + Math.max(a, b); // below 2^53 for 2^26 vertices
      if (!seen.has(key)) { seen.add(key); out.push(a, b); }
    }
  }
  return new Uint32Array(out);
}

class Drawing {
  constructor(gl, clip) {
    this.clip = clip;
    this.shape = clip.fine ?? clip; // what is drawn
    this.frame = -1;
    this.buffers = [];
    this.solid = gl.createVertexArray();
    gl.bindVertexArray(this.solid);
    this.positions = this.attribute(gl, 0, 3, this.shape.positions);
    this.normals = this.attribute(gl, 1, 3, this.shape.normals);
    if (clip.uv) this.attribute(gl, 2, 2, this.shape.uv);
    if (clip.heat) this.heat = this.attribute(gl, 3, 1, clip.heat.subarray(0, clip.count), gl.UNSIGNED_BYTE);
    this.indices(gl, this.shape.faces);
    this.lines = null; // created on first use
    gl.bindVertexArray(null);
  }

  buffer(gl, kind) {
    const made = gl.createBuffer();
    this.buffers.push(made);
    gl.bindBuffer(kind, made);
    return made;
  }

  indices(gl, values) {
    this.buffer(gl, gl.ELEMENT_ARRAY_BUFFER);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, values, gl.STATIC_DRAW);
  }

  free(gl) {
    for (const array of [this.solid, this.lines]) gl.deleteVertexArray(array);
    for (const buffer of this.buffers) gl.deleteBuffer(buffer);
  }

  attribute(gl, place, width, values, kind = gl.FLOAT) {
    const buffer = this.buffer(gl, gl.ARRAY_BUFFER);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, width, kind, kind !== gl.FLOAT, 0, 0);
    return buffer;
  }

  moveTo(gl, frame) {
    if (this.heat && this.heatOf !== frame) {
      this.heatOf = frame; // a static mesh may have colours that change per frame
      const { heat, count } = this.clip, start = heat.length === count ? 0 : frame * count;
      gl.bindBuffer(gl.ARRAY_BUFFER, this.heat);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, heat.subarray(start, start + count));
    }
    const wanted = this.clip.moments === 1 ? 0 : frame;
    if (wanted === this.frame) return;
    this.frame = wanted;
    if (!this.clip.live) fillPositions(this.clip, wanted); // a live clip already has its positions
    const { clip, shape } = this;
    if (clip.fine) (shape.strands ? fillTubes : fillSubdivided)(shape, clip.positions);
    fillNormals(shape);
    for (const [buffer, values] of [[this.positions, shape.positions], [this.normals, shape.normals]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, values);
    }
  }

  drawSolid(gl) {
    gl.bindVertexArray(this.solid);
    gl.drawElements(gl.TRIANGLES, this.shape.faces.length, gl.UNSIGNED_INT, 0);
  }

  drawLines(gl) {
    if (!this.lines) {
      const edges = this.shape.strands ? edgesOf(this.shape.faces) : splitEdges(edgesOf(this.clip.faces), this.clip);
      this.lineCount = edges.length;
      this.lines = gl.createVertexArray();
      gl.bindVertexArray(this.lines);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.positions);
      gl.enableVertexAttribArray(0);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
      this.indices(gl, edges);
    }
    gl.bindVertexArray(this.lines);
    gl.drawElements(gl.LINES, this.lineCount, gl.UNSIGNED_INT, 0);
  }
}

const OVERLAY_ALPHA = 0.88; // as in report/overlay.py

// An overlay with its own mesh in every frame.
class OverlayDrawing {
  constructor(gl, overlay) {
    this.overlay = overlay;
    this.frame = -1;
    this.count = 0;
    this.solid = gl.createVertexArray();
    gl.bindVertexArray(this.solid);
    [this.positions, this.normals] = [0, 1].map((place) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
      return buffer;
    });
    this.faces = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.faces);
    gl.bindVertexArray(null);
  }

  moveTo(gl, frame) {
    const { vertexStart, faceStart, positions, faces } = this.overlay;
    const wanted = Math.min(frame, vertexStart.length - 2);
    if (wanted === this.frame) return;
    this.frame = wanted;
    const x = positions.subarray(3 * vertexStart[wanted], 3 * vertexStart[wanted + 1]);
    const corners = faces.subarray(3 * faceStart[wanted], 3 * faceStart[wanted + 1]);
    const normals = new Float32Array(x.length);
    fillNormals({ faces: corners, positions: x, normals, weld: null });
    this.count = corners.length;
    gl.bindVertexArray(this.solid);
    for (const [buffer, values] of [[this.positions, x], [this.normals, normals]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.faces);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, corners, gl.DYNAMIC_DRAW);
    gl.bindVertexArray(null);
  }

  drawSolid(gl) {
    gl.bindVertexArray(this.solid);
    gl.drawElements(gl.TRIANGLES, this.count, gl.UNSIGNED_INT, 0);
  }
}

class Scene {
  constructor(gl, clips, overlays = []) {
    this.gl = gl;
    this.overlays = overlays.map((overlay) => new OverlayDrawing(gl, overlay));
    this.depth = program(gl, DEPTH_VERTEX, EMPTY_FRAGMENT);
    this.height = program(gl, DEPTH_VERTEX, HEIGHT_FRAGMENT);
    this.lit = program(gl, LIT_VERTEX, LIT_FRAGMENT);
    this.floor = program(gl, FLOOR_VERTEX, FLOOR_FRAGMENT);
    this.line = program(gl, DEPTH_VERTEX, LINE_FRAGMENT);
    if (overlays.length) this.glow = program(gl, LIT_VERTEX, GLOW_FRAGMENT);
    this.empty = gl.createVertexArray();
    this.sunMap = shadowMap(gl, 2048);
    this.softMap = shadowMap(gl, 256);
    this.skyMap = heightMap(gl, 512);
    this.domeMap = shadowMap(gl, 3 * DOME_TILE, 2 * DOME_TILE); // one tile per direction
    this.drawings = [];
    this.load(clips);
    this.taps = 24; // shadow map samples per pixel
    this.compare = gl.createSampler();
    for (const [name, value] of [
      [gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL],
      [gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ]) gl.samplerParameteri(this.compare, name, value);
  }

  // Replace the drawn meshes and their bounding `boxes`; programs and maps are kept.
  load(clips, boxes = clips.map((clip) => clip.box)) {
    for (const drawing of this.drawings) drawing.free(this.gl);
    this.drawings = clips.map((clip) => new Drawing(this.gl, clip));
    this.low = [0, 1, 2].map((k) => Math.min(...boxes.map((box) => box[0][k])));
    this.high = [0, 1, 2].map((k) => Math.max(...boxes.map((box) => box[1][k])));
    this.middle = [0, 1, 2].map((k) => (this.low[k] + this.high[k]) / 2);
    this.size = Math.hypot(...sub(this.high, this.low)) || 1;
    // the sun's map reaches past the box so that long shadows on the floor stay inside
    this.sunProject = this.mapProject(SUN, 0.62);
    this.skyProject = this.mapProject([0, 1, 0], 0.75);
    this.domeProject = DOME.map((towards) => this.mapProject(towards, 0.52));
    this.shadowsOf = -1;
    this.side = 0; // which of the clips before (0) and after (1) to draw
    this.port = null; // x, y, width, height of the part of the canvas to draw on, pixels; null: all of it
  }

  mapProject(towards, reach) {
    return multiply(parallel(this.size * reach, this.size), lookAt(madd(this.middle, towards, 1e-6 * this.size), this.middle));
  }

  get shown() {
    return this.drawings.filter(({ clip }) => clip.side === undefined || clip.side === this.side);
  }

  get area() {
    return this.port ?? [0, 0, this.gl.drawingBufferWidth, this.gl.drawingBufferHeight];
  }

  castShadows(frame) {
    const { gl } = this, what = 2 * frame + this.side;
    if (this.shadowsOf === what) return;
    this.shadowsOf = what;
    const whole = (map, project) => [[project, 0, 0, map.size]];
    this.castInto(this.sunMap, this.depth, whole(this.sunMap, this.sunProject));
    this.castInto(this.softMap, this.depth, whole(this.softMap, this.sunProject));
    this.castInto(this.domeMap, this.depth, this.domeProject.map((project, k) => [project, (k % 3) * DOME_TILE, Math.floor(k / 3) * DOME_TILE, DOME_TILE]));
    this.castInto(this.skyMap, this.height, whole(this.skyMap, this.skyProject));
    gl.bindTexture(gl.TEXTURE_2D, this.skyMap.texture);
    gl.generateMipmap(gl.TEXTURE_2D);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  // Depth of what is shown from each of `views`: projection, corner and side of its square in the map.
  castInto(map, { made, uniforms }, views) {
    const { gl } = this;
    gl.useProgram(made);
    gl.bindFramebuffer(gl.FRAMEBUFFER, map.frame);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    for (const [project, x, y, side] of views) {
      gl.viewport(x, y, side, side);
      gl.uniformMatrix4fv(uniforms.project, false, project);
      for (const drawing of this.shown) drawing.drawSolid(gl);
    }
  }

  use(which, project) {
    const { gl } = this, { made, uniforms } = which;
    gl.useProgram(made);
    gl.uniformMatrix4fv(uniforms.project, false, project);
    if (!("sunMap" in uniforms)) return uniforms;
    const units = [["sunMap", this.sunMap, this.compare], ["sunDepth", this.sunMap, null], ["skyDepth", this.skyMap, null], ["domeMap", this.domeMap, this.compare], ["softMap", this.softMap, this.compare]];
    units.forEach(([name, map, sampler], k) => {
      gl.activeTexture(gl.TEXTURE0 + k);
      gl.bindTexture(gl.TEXTURE_2D, map.texture);
      gl.bindSampler(k, sampler);
      gl.uniform1i(uniforms[name], k);
    });
    gl.uniformMatrix4fv(uniforms.sunProject, false, this.sunProject);
    gl.uniformMatrix4fv(uniforms.skyProject, false, this.skyProject);
    gl.uniform3fv(uniforms.sun, SUN);
    if (uniforms["dome[0]"]) { // the floor does not use it
      gl.uniform3fv(uniforms["dome[0]"], DOME.flat());
      gl.uniformMatrix4fv(uniforms["domeProject[0]"], false, this.domeProject.flatMap((m) => [...m]));
    }
    gl.uniform1f(uniforms.size, this.size);
    gl.uniform1i(uniforms.taps, this.taps);
    return uniforms;
  }

  draw(frame, eye, project, { wire, dark }) {
    const { gl } = this;
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    for (const drawing of this.shown) drawing.moveTo(gl, frame);
    this.castShadows(frame);
    gl.viewport(...this.area);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(...this.area);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.disable(gl.SCISSOR_TEST);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1, 1);
    const lit = this.use(this.lit, project);
    gl.uniform3fv(lit.eye, eye);
    for (const drawing of this.shown) {
      const { clip } = drawing;
      gl.uniform3fv(lit.color, clip.color);
      gl.uniform1i(lit.open, clip.open ? 1 : 0);
      gl.uniform2f(lit.weave, clip.uv && clip.open ? 12 : 0, 12);
      drawing.drawSolid(gl);
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (wire) this.drawWire(project);
    if (eye[1] > this.low[1]) this.drawFloor(project, dark);
    if (this.overlays.length) this.drawOverlays(frame, eye, project);
  }

  // Drawn last, after clearing the depth buffer, to show overlays inside bodies.
  drawOverlays(frame, eye, project) {
    const { gl } = this, lit = this.use(this.glow, project);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.blendColor(0, 0, 0, OVERLAY_ALPHA);
    gl.blendFunc(gl.CONSTANT_ALPHA, gl.ONE_MINUS_CONSTANT_ALPHA);
    gl.uniform3fv(lit.eye, eye);
    gl.uniform3fv(lit.sun, SUN);
    for (const drawing of this.overlays) {
      drawing.moveTo(gl, frame);
      gl.uniform3fv(lit.color, drawing.overlay.color);
      drawing.drawSolid(gl);
    }
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  drawWire(project) {
    const { gl } = this, line = this.use(this.line, project);
    for (const drawing of this.shown) {
      gl.uniform4f(line.ink, 0.05, 0.06, 0.09, drawing.clip.open ? 0.45 : 0.15);
      drawing.drawLines(gl);
    }
  }

  drawFloor(project, dark) {
    const { gl } = this, floor = this.use(this.floor, project);
    const below = this.low[1] - 0.001 * this.size;
    gl.uniform3f(floor.middle, this.middle[0], below, this.middle[2]);
    gl.uniform1f(floor.reach, this.size * 1.4);
    gl.uniform1f(floor.strength, dark ? 1.25 : 1);
    gl.bindVertexArray(this.empty);
    gl.depthMask(false);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.depthMask(true);
  }
}
