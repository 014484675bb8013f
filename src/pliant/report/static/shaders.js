// GLSL: one depth pass, one lit pass for meshes, a floor that only catches shadows, lines.

const DEPTH_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
uniform mat4 project;
void main() { gl_Position = project * vec4(position, 1.); }`;

const EMPTY_FRAGMENT = `#version 300 es
precision mediump float;
void main() {}`;

// Depth as two bytes of a colour, and a mask of where there is any: textures interpolate colours but not depth.
const HEIGHT_FRAGMENT = `#version 300 es
precision highp float;
out vec4 pixel;
void main() {
  float z = gl_FragCoord.z * 255.;
  pixel = vec4(floor(z) / 255., fract(z), 1., 1.);
}`;

const LIT_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 uv;
uniform mat4 project;
out vec3 at;
out vec3 facing;
out vec2 cloth;
#ifdef HEAT
layout(location = 3) in float heat;
out float warmth;
#endif
void main() {
#ifdef HEAT
  warmth = heat * (255. / 127.) - (128. / 127.); // -1 .. 1, 0 on the surface
#endif
  at = position;
  facing = normal;
  cloth = uv;
  gl_Position = project * vec4(position, 1.);
}`;

// Sun: a shadow map along the light, blurred more where the blocker is farther away, and a coarse one for wide blurs. Sky: a map from straight above, read
// over a wide disc, so that what is closely covered darkens softly, and the dome, maps from six directions around, which
// darken the depths of folds whichever way they hang. The maps of the sun are bound twice, to compare and to read. All
// pixels take the same samples: samples that differ from pixel to pixel show as grain. Points are lifted along their
// normal so that a surface does not shade itself. Radii are fractions of a map.
const SPIRAL = Array.from({ length: 32 }, (_, k) => {
  const r = Math.sqrt((k + 0.5) / 32), t = k * 2.39996;
  return `vec2(${(r * Math.cos(t)).toFixed(5)}, ${(r * Math.sin(t)).toFixed(5)})`;
});
const LIGHT = `
precision highp float;
precision highp sampler2D;
precision highp sampler2DShadow;
uniform sampler2DShadow sunMap, softMap, domeMap;
uniform sampler2D sunDepth, skyDepth;
uniform mat4 sunProject, skyProject, domeProject[6];
uniform vec3 sun, dome[6];
uniform float size;
uniform int taps;
const vec2 SPIRAL[32] = vec2[](${SPIRAL});
vec2 tap(int k, int n) { return SPIRAL[k] * sqrt(32. / float(n)); } // the first n points, which fill the unit disc evenly
float sunlight(vec3 p, vec3 n) {
  vec3 c = (sunProject * vec4(p + n * size * .004, 1.)).xyz * .5 + .5;
  c.z = min(c.z, 1.); // beyond the map's far end; where depth is kept as float, an empty map at 1 would shade it
  float near = 0., blockers = 0., gap = 0., sum = 0.;
  int search = taps / 2;
  for (int k = 0; k < search; k++) {
    float d = c.z - texture(sunDepth, c.xy + tap(k, search) * .02).r;
    if (d > .0005) near += 1.;
    if (d > .007) { blockers += 1.; gap += d; }
  }
  if (near == 0.) return 1.;
  float radius = clamp(.09 * gap / max(blockers, 1.), .0013, .02);
  float soft = smoothstep(.004, .008, radius), low = c.z - .0003 - .5 * radius;
  if (soft < 1.) for (int k = 0; k < taps; k++) sum += (1. - soft) * texture(sunMap, vec3(c.xy + tap(k, taps) * radius, low));
  if (soft > 0.) for (int k = 0; k < taps; k++) sum += soft * texture(softMap, vec3(c.xy + tap(k, taps) * radius, low));
  return sum / float(taps);
}
float skylight(vec3 p, vec3 n) {
  vec3 c = (skyProject * vec4(p + n * size * .015, 1.)).xyz * .5 + .5;
  float sum = 0.;
  if (textureLod(skyDepth, c.xy, 6.).b == 0.) return 1.; // nothing within an eighth of the map
  for (int k = 0; k < 14; k++) {
    vec3 above = textureLod(skyDepth, c.xy + tap(k, 14) * .07, 3.).rgb;
    float h = (c.z - (above.r + above.g / 255.) / max(above.b, .01)) * 2.; // of the scene's size
    sum += above.b * smoothstep(.002, .016, h) / (1. + 30. * h * h);
  }
  return 1. - sum / 14.;
}
float domelight(vec3 p, vec3 n) {
  float sum = 0., full = 0.;
  for (int k = 0; k < 6; k++) {
    float w = max(dot(n, dome[k]), 0.), open = 0.;
    if (w == 0.) continue;
    vec3 c = (domeProject[k] * vec4(p + n * size * .005, 1.)).xyz * .5 + .5;
    vec2 tile = vec2(k % 3, k / 3);
    for (int j = 0; j < 8; j++) {
      vec2 q = clamp(c.xy + tap(j, 8) * .018, .002, .998);
      open += texture(domeMap, vec3((q + tile) / vec2(3., 2.), c.z - .004));
    }
    sum += w * open / 8.;
    full += w;
  }
  return (sum + .05) / (full + .05);
}
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
#ifdef HEAT
in float warmth;
uniform vec3 ramp[6];
uniform float ghost; // opacity of penetrating parts drawn through occluders; 0 = main pass
#endif
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
#ifdef HEAT
  if (ghost > 0. && warmth <= 0.) discard;
  if (warmth > 0.) {
    float t = min(warmth, 1.) * 5.;
    int k = min(int(t), 4);
    albedo = mix(ramp[k], ramp[k + 1], t - float(k));
  }
  bool shaded = ghost == 0.; // penetrating parts would be shadowed by the body around them
#else
  const bool shaded = true;
#endif
  vec3 v = normalize(eye - at);
  float sky = shaded ? mix(.42, 1., skylight(at, n)) * mix(.40, 1., domelight(at, n)) : 1.;
  vec3 ambient = mix(vec3(.20, .185, .17), vec3(.46, .49, .54), n.y * .5 + .5) * sky;
  float key = max(dot(n, sun), 0.) * (shaded ? sunlight(at, n) : 1.);
  float fill = max(dot(n, normalize(vec3(-sun.x, .25, -sun.z))), 0.) * .10;
  vec3 light = ambient + key * vec3(.86, .82, .76) + fill;
  float rim = pow(1. - max(dot(n, v), 0.), 3.);
  // the fibres that stand off cloth catch the light at grazing angles
  vec3 sheen = rim * (open ? (ambient * 1.2 + key * .35) * (albedo * .45 + .05) : ambient * (albedo * .25 + .04));
  float shine = open ? 0. : pow(max(dot(n, normalize(sun + v)), 0.), 40.) * .12 * min(key * 2., 1.);
  pixel = vec4(screen(albedo * light + sheen + shine), 1.);
#ifdef HEAT
  if (ghost > 0.) pixel *= ghost;
#endif
}`;

// Overlays: lit, without shadows.
const GLOW_FRAGMENT = `#version 300 es
precision highp float;
in vec3 at;
in vec3 facing;
uniform vec3 eye, color, sun;
out vec4 pixel;
void main() {
  vec3 n = normalize(facing), v = normalize(eye - at);
  float light = .5 + .25 * n.y + .6 * max(dot(n, sun), 0.);
  float rim = pow(1. - abs(dot(n, v)), 3.);
  vec3 c = color * light * (1. - .35 * rim);
  pixel = vec4(mix(c * 12.92, 1.055 * pow(max(c, 0.), vec3(1. / 2.4)) - .055, step(.0031308, c)), 1.);
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
  float dark = (1. - sunlight(at, up)) * .34 + (1. - skylight(at, up)) * .42;
  pixel = vec4(0., 0., .02, 1.) * dark * strength * smoothstep(1., .4, far);
}`;

const LINE_FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 ink;
out vec4 pixel;
void main() { pixel = vec4(ink.rgb * ink.a, ink.a); }`;

// A segment is a strip of four corners, some pixels wide: WebGL lines are only one pixel wide.
const STRIP_VERTEX = `#version 300 es
layout(location = 0) in vec3 from;
layout(location = 1) in vec3 to;
uniform mat4 project;
uniform vec2 screen; // pixels
uniform float width;
void main() {
  vec4 a = project * vec4(from, 1.), b = project * vec4(to, 1.);
  vec2 along = (b.xy / b.w - a.xy / a.w) * screen;
  float span = length(along);
  vec2 t = span > 0. ? along / span : vec2(1., 0.);
  bool end = gl_VertexID > 1;
  vec4 p = end ? b : a;
  vec2 out_of = vec2(-t.y, t.x) * ((gl_VertexID & 1) == 0 ? -1. : 1.) + t * (end ? .6 : -.6);
  p.xy += out_of * width / screen * p.w;
  p.z -= 2e-4 * p.w; // in front of the surfaces it lies in
  gl_Position = p;
}`;
