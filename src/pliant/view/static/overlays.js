// Overlays: contacts, normals, the data structure of the method, slices, pins and the line of the drag constraint.

const DOT_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in float depth; // metres
uniform mat4 project;
uniform float width, deepest;
out float heat;
void main() {
  heat = deepest > 0. ? clamp(depth / deepest, 0., 1.) : 0.;
  gl_Position = project * vec4(position, 1.);
  gl_Position.z -= 2e-4 * gl_Position.w;
  gl_PointSize = width;
}`;

// Round, with a dark or bright edge to be visible on any cloth. ink.a = 0: coloured by depth.
const DOT_FRAGMENT = `#version 300 es
precision mediump float;
in float heat;
uniform vec4 ink, edge;
uniform float alpha;
uniform vec3 ramp[4];
out vec4 pixel;
void main() {
  vec2 p = gl_PointCoord * 2. - 1.;
  float r = length(p), soft = fwidth(r);
  float t = heat * 3.;
  int k = min(int(t), 2);
  vec3 c = ink.a > 0. ? ink.rgb : mix(ramp[k], ramp[k + 1], t - float(k));
  c = mix(c, edge.rgb, edge.a * smoothstep(.62 - soft, .62 + soft, r));
  float a = alpha * (1. - smoothstep(1. - 2. * soft, 1., r));
  pixel = vec4(c * a, a);
}`;

const SLICE_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
uniform mat4 project;
out vec2 at;
void main() {
  at = vec2(((gl_VertexID + 1) >> 1) & 1, gl_VertexID >> 1); // corners in order around the quad, from the first pixel of the image
  gl_Position = project * vec4(position, 1.);
}`;

const SLICE_FRAGMENT = `#version 300 es
precision mediump float;
in vec2 at;
uniform sampler2D image;
uniform float alpha;
out vec4 pixel;
void main() {
  vec4 c = texture(image, at);
  pixel = vec4(c.rgb, 1.) * c.a * alpha;
}`;

// The silhouette of a sphere as a square that faces the eye; ball: centre, radius, and 0 or 1 for its colour.
const BALL_VERTEX = `#version 300 es
layout(location = 0) in vec4 ball;
layout(location = 1) in float side;
uniform mat4 project;
uniform vec3 eye;
out vec2 at;
out float accent;
void main() {
  at = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2. - 1.;
  accent = side;
  vec3 to = ball.xyz - eye;
  float far = max(length(to), 1.001 * ball.w), r = ball.w * far / sqrt(far * far - ball.w * ball.w);
  vec3 z = to / far, x = normalize(abs(z.y) < .99 ? cross(z, vec3(0., 1., 0.)) : cross(z, vec3(1., 0., 0.))), y = cross(x, z);
  gl_Position = project * vec4(ball.xyz + r * (at.x * x + at.y * y), 1.);
}`;

const BALL_FRAGMENT = `#version 300 es
precision mediump float;
in vec2 at;
in float accent;
uniform vec3 inks[2];
uniform float alpha, fill, edge;
out vec4 pixel;
void main() {
  float r = length(at), soft = fwidth(r);
  float rim = smoothstep(1. - 2.6 * soft, 1. - 1.7 * soft, r) * (1. - smoothstep(1. - .9 * soft, 1., r));
  float a = alpha * max(rim * edge, r < 1. - soft ? fill * (.3 + .7 * r * r * r) : 0.);
  pixel = vec4(inks[accent > .5 ? 1 : 0] * a, a);
}`;

// Colours from touching to deepest; play.css has the same for the legend.
const DEPTH_RAMP = [[0.13, 0.83, 0.78], [0.98, 0.87, 0.25], [0.98, 0.50, 0.13], [0.86, 0.10, 0.35]];
// first and second colour of a data structure; play.css has the same for its legend
const INKS = { light: [[0.10, 0.32, 0.72], [0.76, 0.30, 0.02]], dark: [[0.55, 0.78, 1.0], [1.0, 0.70, 0.36]] };
const DRAG_INK = [0.18, 0.44, 0.86];

class Overlays {
  constructor(gl) {
    this.gl = gl;
    this.dots = program(gl, DOT_VERTEX, DOT_FRAGMENT);
    this.strips = program(gl, STRIP_VERTEX, LINE_FRAGMENT);
    this.sheet = program(gl, SLICE_VERTEX, SLICE_FRAGMENT);
    this.balls = program(gl, BALL_VERTEX, BALL_FRAGMENT);
    gl.useProgram(this.dots.made);
    gl.uniform3fv(this.dots.uniforms["ramp[0]"], new Float32Array(DEPTH_RAMP.flat()));
    this.kept = {}; // vertex arrays and their buffers, by name
    this.texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
    this.deepest = 0; // upper end of the colour scale, metres
    this.scaled = 0; // time of the last change of the scale, ms
  }

  // Arrays of a vertex array `name`, each [place, width, stride, offset, divisor] of its buffer.
  fill(name, buffers) {
    const { gl } = this;
    if (!this.kept[name]) {
      const made = { array: gl.createVertexArray(), buffers: buffers.map(() => gl.createBuffer()) };
      gl.bindVertexArray(made.array);
      buffers.forEach(([, ...places], k) => {
        gl.bindBuffer(gl.ARRAY_BUFFER, made.buffers[k]);
        for (const [place, width, stride, offset, divisor] of places) {
          gl.enableVertexAttribArray(place);
          gl.vertexAttribPointer(place, width, gl.FLOAT, false, stride, offset);
          gl.vertexAttribDivisor(place, divisor);
        }
      });
      gl.bindVertexArray(null);
      this.kept[name] = made;
    }
    buffers.forEach(([values], k) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.kept[name].buffers[k]);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    });
    return this.kept[name].array;
  }

  drawDots(name, points, depths, project, { width, ink = [0, 0, 0, 0], edge, alpha }) {
    const { gl } = this, dots = this.dots.uniforms;
    gl.useProgram(this.dots.made);
    gl.uniformMatrix4fv(dots.project, false, project);
    gl.uniform1f(dots.width, width * this.pixels);
    gl.uniform1f(dots.deepest, this.deepest);
    gl.uniform4f(dots.ink, ...ink);
    gl.uniform4f(dots.edge, ...edge);
    gl.uniform1f(dots.alpha, alpha);
    gl.bindVertexArray(this.fill(name, [[points, [0, 3, 0, 0, 0]], [depths ?? new Float32Array(points.length / 3), [1, 1, 0, 0, 0]]]));
    gl.drawArrays(gl.POINTS, 0, points.length / 3);
  }

  drawStrips(name, ends, project, width, ink) {
    const { gl } = this, strips = this.strips.uniforms;
    gl.useProgram(this.strips.made);
    gl.uniformMatrix4fv(strips.project, false, project);
    gl.uniform2f(strips.screen, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.uniform1f(strips.width, width * this.pixels);
    gl.uniform4f(strips.ink, ...ink);
    gl.bindVertexArray(this.fill(name, [[ends, [0, 3, 24, 0, 1], [1, 3, 24, 12, 1]]]));
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, ends.length / 6);
  }

  // Many spheres overlap, so that the more there are, the fainter each is filled.
  drawBalls(balls, project, eye, inks, alpha) {
    const { gl } = this, { uniforms } = this.balls, count = balls.length / 5;
    gl.useProgram(this.balls.made);
    gl.uniformMatrix4fv(uniforms.project, false, project);
    gl.uniform3f(uniforms.eye, ...eye);
    gl.uniform3fv(uniforms["inks[0]"], new Float32Array(inks.flat()));
    gl.uniform1f(uniforms.alpha, alpha);
    gl.uniform1f(uniforms.fill, Math.min(0.22, 6 / count));
    gl.uniform1f(uniforms.edge, 0.85 * Math.min(1, Math.max(0.3, Math.sqrt(160 / count))));
    gl.bindVertexArray(this.fill("balls", [[balls, [0, 4, 20, 0, 1], [1, 1, 20, 16, 1]]]));
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
  }

  drawSlice(corners, image, [height, width], project, alpha = 1) {
    const { gl } = this, sheet = this.sheet.uniforms;
    gl.useProgram(this.sheet.made);
    gl.uniformMatrix4fv(sheet.project, false, project);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindSampler(0, null);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, image);
    gl.uniform1i(sheet.image, 0);
    gl.uniform1f(sheet.alpha, alpha);
    gl.bindVertexArray(this.fill("slice", [[corners, [0, 3, 0, 0, 0]]]));
    gl.depthMask(alpha === 1); // later overlays are depth-tested against what is visible of it
    gl.drawArrays(gl.TRIANGLE_FAN, 0, 4);
    gl.depthMask(false);
  }

  // Draw twice: faint where occluded, strong where visible.
  through(faint, draw) {
    const { gl } = this;
    for (const [order, alpha] of [[gl.GREATER, faint], [gl.LEQUAL, 1]]) {
      gl.depthFunc(order);
      draw(alpha);
    }
    gl.depthFunc(gl.LESS);
  }

  // `arrays` of a frame; `dragLine`: [point, target] of the drag constraint, or null
  draw({ arrays, shapes }, dragLine, project, { dark, size, eye }) {
    const { gl } = this, { points, normals, depths, lines, accents, spheres, dots, pins } = arrays;
    this.pixels = gl.drawingBufferWidth / (gl.canvas.clientWidth || 1);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    if (arrays.slice && arrays.slice_image) this.drawSlice(arrays.slice, arrays.slice_image, shapes.slice_image, project);
    const { field_slice: field, field_slice_image: fieldImage } = arrays;
    if (field && fieldImage) this.through(0.6, (alpha) => this.drawSlice(field, fieldImage, shapes.field_slice_image, project, alpha));
    const inks = INKS[dark ? "dark" : "light"];
    if (lines?.length) this.drawLines("lines", lines, project, inks[0]);
    if (accents?.length) this.drawLines("accents", accents, project, inks[1]);
    if (spheres?.length) this.through(0.3, (alpha) => this.drawBalls(spheres, project, eye, inks, alpha));
    if (dots?.length) this.drawMarks(dots, project, inks, dark);
    if (normals?.length && points) {
      const ends = this.ends(points, normals, 0.028 * size), ink = dark ? [1, 0.86, 0.55] : [0.13, 0.13, 0.2];
      this.through(0.55, (alpha) => this.drawStrips("normals", ends, project, 1.2, [...ink, 0.9 * alpha]));
    }
    if (depths?.length && points) {
      this.scale(depths);
      this.through(0.6, (alpha) => this.drawDots("points", points, depths, project, { width: 9, edge: [0.05, 0.06, 0.1, 0.75], alpha }));
    }
    if (pins?.length) this.through(0.5, (alpha) => this.drawDots("pins", pins, null, project, { width: 13, ink: [...DRAG_INK, 1], edge: [1, 1, 1, 1], alpha }));
    if (dragLine) this.drawDragLine(dragLine, project);
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }

  // Dots of a data structure, of either colour; smaller if there are many.
  drawMarks(dots, project, inks, dark) {
    const count = dots.length / 4, width = Math.min(9, Math.max(4.5, 9 * Math.sqrt(300 / count)));
    for (const k of [0, 1]) {
      const points = new Float32Array(dots.filter((_, i) => i % 4 < 3 && dots[4 * Math.floor(i / 4) + 3] === k));
      const edge = width > 6 ? (dark ? [0, 0, 0, 0.6] : [1, 1, 1, 0.8]) : [0, 0, 0, 0];
      if (points.length) this.through(0.4, (alpha) => this.drawDots(`marks ${k}`, points, null, project, { width, ink: [...inks[k], 1], edge, alpha }));
    }
  }

  // The more lines there are, the fainter: at most about as dark as two thousand of them.
  drawLines(name, ends, project, ink) {
    const strength = 0.8 * Math.min(1, Math.max(0.35, Math.sqrt(2000 / (ends.length / 6))));
    this.through(0.28, (alpha) => this.drawStrips(name, ends, project, 1.1, [...ink, strength * alpha]));
  }

  // The scale covers nearly all contacts; it shrinks slowly, so that colours do not flicker.
  scale(depths) {
    const most = Math.max(0, Float32Array.from(depths).sort()[Math.floor(0.97 * (depths.length - 1))]), now = performance.now();
    const share = 1 - Math.exp((this.scaled - now) / (most > this.deepest ? 100 : 1500));
    this.deepest += (most - this.deepest) * (this.deepest ? share : 1);
    this.scaled = now;
  }

  ends(points, normals, length) {
    const out = new Float32Array(2 * points.length);
    for (let i = 0; i < points.length; i += 3) {
      for (let k = 0; k < 3; k++) {
        out[2 * i + k] = points[i + k];
        out[2 * i + 3 + k] = points[i + k] + length * normals[i + k];
      }
    }
    return out;
  }

  drawDragLine([point, target], project) {
    const { gl } = this;
    gl.disable(gl.DEPTH_TEST);
    this.drawStrips("drag line", new Float32Array([...point, ...target]), project, 3.6, [1, 1, 1, 0.9]);
    this.drawStrips("drag line", new Float32Array([...point, ...target]), project, 2, [...DRAG_INK, 1]);
    this.drawDots("ends", new Float32Array([...point]), null, project, { width: 15, ink: [1, 1, 1, 1], edge: [...DRAG_INK, 1], alpha: 1 });
    this.drawDots("ends", new Float32Array([...target]), null, project, { width: 11, ink: [...DRAG_INK, 1], edge: [1, 1, 1, 1], alpha: 1 });
    gl.enable(gl.DEPTH_TEST);
  }
}
