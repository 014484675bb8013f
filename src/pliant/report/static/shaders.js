// GLSL: one depth pass, one lit pass for meshes, a floor that only catches shadows, lines.

const DEPTH_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
uniform mat4 project;
void main() { gl_Position = project * vec4(position, 1.); }`;

const EMPTY_FRAGMENT = `#version 300 es
precision mediump float;
void main() {}`;

const LIT_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 uv;
uniform mat4 project;
out vec3 at;
out vec3 facing;
out vec2 cloth;
void main() {
  at = position;
  facing = normal;
  cloth = uv;
  gl_Position = project * vec4(position, 1.);
}`;

// Sun: a shadow map along the light. Sky: a map from straight above, read over a wide disc, so that what is covered
// from above darkens softly. Points are lifted along their normal so that a surface does not shade itself.
const LIGHT = `
precision highp float;
precision highp sampler2DShadow;
uniform sampler2DShadow sunMap, skyMap;
uniform mat4 sunProject, skyProject;
uniform vec3 sun;
uniform float size;
const vec2 disc[12] = vec2[12](
  vec2(-.326, -.406), vec2(-.840, -.074), vec2(-.696, .457), vec2(-.203, .621), vec2(.962, -.195), vec2(.473, -.480),
  vec2(.519, .767), vec2(.185, -.893), vec2(.507, .064), vec2(.896, .412), vec2(-.322, -.933), vec2(-.792, -.598));
float turn() { return 6.2832 * fract(52.9829 * fract(dot(gl_FragCoord.xy, vec2(.06711, .005837)))); }
float lit(sampler2DShadow map, mat4 project, vec3 p, float radius, float bias) {
  vec3 c = (project * vec4(p, 1.)).xyz * .5 + .5;
  float a = turn(), sum = 0.;
  mat2 spin = mat2(cos(a), sin(a), -sin(a), cos(a)) * radius;
  for (int k = 0; k < 12; k++) sum += texture(map, vec3(c.xy + spin * disc[k], c.z - bias));
  return sum / 12.;
}
float sunlight(vec3 p, vec3 n) { return lit(sunMap, sunProject, p + n * size * .006, .0035, .0006); }
float skylight(vec3 p, vec3 n) { return lit(skyMap, skyProject, p + n * size * .02, .045, .004); }
vec3 screen(vec3 c) {
  c = c / (1. + max(c - .8, 0.) * .6);
  return mix(c * 12.92, 1.055 * pow(max(c, 0.), vec3(1. / 2.4)) - .055, step(.0031308, c));
}`;

const LIT_FRAGMENT = `#version 300 es
${LIGHT}
in vec3 at;
in vec3 facing;
in vec2 cloth;
uniform vec3 eye, color;
uniform vec2 weave; // checks per unit of uv; 0 = plain
uniform bool open;
out vec4 pixel;
void main() {
  vec3 n = normalize(facing);
  vec3 albedo = color;
  if (open && !gl_FrontFacing) { n = -n; albedo = color * .62 + vec3(.07, .065, .06); }
  if (weave.x > 0.) {
    vec2 t = cloth * weave;
    vec2 soft = max(fwidth(t), 1e-4);
    vec2 edge = abs(fract(t) - .5);
    vec2 band = smoothstep(.25 - soft, .25 + soft, edge);
    band = mix(band, vec2(.5), clamp(soft * 1.5 - .5, 0., 1.));
    albedo = mix(albedo, albedo * .78 + vec3(.012), .5 * (band.x + band.y));
  }
  vec3 v = normalize(eye - at);
  float sky = mix(.42, 1., skylight(at, n));
  vec3 ambient = mix(vec3(.20, .185, .17), vec3(.46, .49, .54), n.y * .5 + .5) * sky;
  float key = max(dot(n, sun), 0.) * sunlight(at, n);
  float fill = max(dot(n, normalize(vec3(-sun.x, .25, -sun.z))), 0.) * .10;
  vec3 light = ambient + key * vec3(.86, .82, .76) + fill;
  float rim = pow(1. - max(dot(n, v), 0.), 3.);
  float shine = open ? 0. : pow(max(dot(n, normalize(sun + v)), 0.), 40.) * .12 * min(key * 2., 1.);
  pixel = vec4(screen(albedo * light + rim * ambient * .16 + shine), 1.);
}`;

const FLOOR_VERTEX = `#version 300 es
uniform mat4 project;
uniform vec3 middle; // of the floor
uniform float reach;
out vec3 at;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2. - 1.;
  at = middle + vec3(corner.x, 0., corner.y) * reach;
  gl_Position = project * vec4(at, 1.);
}`;

const FLOOR_FRAGMENT = `#version 300 es
${LIGHT}
in vec3 at;
uniform vec3 middle;
uniform float reach, strength;
out vec4 pixel;
void main() {
  float far = length(at - middle) / reach;
  vec3 up = vec3(0., 1., 0.);
  float dark = (1. - sunlight(at, up)) * .34 + (1. - skylight(at, up)) * .36;
  pixel = vec4(0., 0., .02, 1.) * dark * strength * smoothstep(1., .4, far);
}`;

const LINE_FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 ink;
out vec4 pixel;
void main() { pixel = vec4(ink.rgb * ink.a, ink.a); }`;
