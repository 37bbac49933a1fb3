// Drawing: points by WebGL2 (or a canvas where no graphics card does it), the rest on canvases below and above them.

const VERTEX = `#version 300 es
in vec2 place; in vec4 colour; uniform vec2 size; uniform float diameter; out vec4 shade;
void main() {
  shade = vec4(colour.rgb * colour.a, colour.a);
  gl_Position = colour.a == 0.0 ? vec4(2, 2, 2, 1) : vec4(place.x / size.x * 2.0 - 1.0, 1.0 - place.y / size.y * 2.0, 0, 1);
  gl_PointSize = diameter + 1.0;
}`;
const FRAGMENT = `#version 300 es
precision highp float; in vec4 shade; uniform float diameter; out vec4 pixel;
void main() {
  float edge = (0.5 - distance(gl_PointCoord, vec2(0.5))) * (diameter + 1.0);
  if (edge <= 0.0) discard;
  pixel = shade * min(edge, 1.0);
}`;

// Thin lines are drawn faster by the processor than by a graphics card, and far faster than by one in software.
function flatContext(canvas) {
  return canvas.getContext("2d", { willReadFrequently: true });
}

// The two painters have the same three methods.
class WebGLPainter {
  // A painter where a graphics card does the work, or where `software` allows a simulated one; else null.
  static make(canvas, n, software) {
    const probe = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: !software });
    if (!probe) return null;
    const about = probe.getExtension("WEBGL_debug_renderer_info");
    const card = about ? probe.getParameter(about.UNMASKED_RENDERER_WEBGL) : "";
    probe.getExtension("WEBGL_lose_context")?.loseContext();
    if (!software && /swiftshader|llvmpipe|softpipe|software|basic render/i.test(card)) return null;
    const gl = canvas.getContext("webgl2", { antialias: false, depth: false, preserveDrawingBuffer: true });
    return gl ? new WebGLPainter(gl, n) : null;
  }

  constructor(gl, n) {
    this.gl = gl;
    this.n = n;
    this.name = "WebGL2";
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "place");
    gl.bindAttribLocation(program, 1, "colour");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    this.size = gl.getUniformLocation(program, "size");
    this.diameter = gl.getUniformLocation(program, "diameter");
    this.places = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    this.colours = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colours);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  colour(rgba) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.colours);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, rgba, this.gl.STATIC_DRAW);
  }

  draw(places, width, height, diameter) {
    const gl = this.gl;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.bufferData(gl.ARRAY_BUFFER, places, gl.STREAM_DRAW);
    gl.uniform2f(this.size, width, height);
    gl.uniform1f(this.diameter, diameter * (gl.drawingBufferWidth / width));
    gl.drawArrays(gl.POINTS, 0, this.n);
  }
}

// Points by the processor, pixel by pixel: where there is no graphics card this is many times faster than WebGL in
// software. Every point is a small stamp of coverages, made for each quarter of a pixel.
class PixelPainter {
  constructor(canvas, n) {
    this.context = flatContext(canvas);
    this.n = n;
    this.name = "canvas";
    this.diameter = 0;
  }

  colour(rgba) {
    this.words = new Uint32Array(rgba.buffer); // alpha in the highest byte, as image data has it
  }

  prepare(width, height, diameter) {
    if (this.image?.width !== width || this.image?.height !== height) {
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.diameter = 0;
    }
    if (this.diameter === diameter) return;
    this.diameter = diameter;
    this.side = Math.ceil(diameter) + 2;
    this.stamps = [];
    for (let quarter = 0; quarter < 16; quarter++) {
      const cx = this.side / 2 + ((quarter & 3) + 0.5) / 4 - 0.5, cy = this.side / 2 + ((quarter >> 2) + 0.5) / 4 - 0.5;
      const offsets = [], coverages = [];
      for (let y = 0; y < this.side; y++)
        for (let x = 0; x < this.side; x++) {
          const edge = diameter / 2 - Math.hypot(x + 0.5 - cx, y + 0.5 - cy) + 0.5;
          if (edge <= 0) continue;
          offsets.push(y * width + x);
          coverages.push(Math.min(255, Math.round(255 * edge)));
        }
      const shades = new Array(256);
      shades[255] = Uint8Array.from(coverages);
      this.stamps.push({ offsets: Int32Array.from(offsets), shades });
    }
  }

  // A stamp for points of another opacity.
  shade(shades, alpha) {
    shades[alpha] = shades[255].map((coverage) => Math.round((alpha * coverage) / 255));
    return shades[alpha];
  }

  draw(places, width, height, diameter) {
    const { width: w, height: h } = this.context.canvas, k = w / width;
    this.prepare(w, h, diameter * k);
    const { pixels, words, stamps, side, n } = this, half = side / 2 - 0.5;
    pixels.fill(0);
    for (let i = 0; i < n; i++) {
      const word = words[i], alpha = word >>> 24;
      if (alpha === 0) continue;
      const x = places[2 * i] * k - half, y = places[2 * i + 1] * k - half, left = Math.floor(x), top = Math.floor(y);
      // a stamp that the edge of the canvas would cut is left out: the disk has a margin
      if (!(left >= 0 && top >= 0 && left + side < w && top + side < h)) continue;
      const { offsets, shades } = stamps[(((y - top) * 4) << 2) | ((x - left) * 4)], start = top * w + left, base = word & 0xffffff;
      const shade = shades[alpha] ?? this.shade(shades, alpha);
      for (let j = 0; j < offsets.length; j++) {
        const at = start + offsets[j], a = shade[j];
        // later points cover earlier ones, a faint one never covers a strong one
        if (pixels[at] >>> 24 <= a) pixels[at] = base | (a << 24);
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }
}

// Paths are written for a canvas; this writes them as SVG.
class SvgPath {
  constructor() {
    this.d = [];
  }
  moveTo(x, y) {
    this.d.push(`M${x.toFixed(2)} ${y.toFixed(2)}`);
  }
  lineTo(x, y) {
    this.d.push(`L${x.toFixed(2)} ${y.toFixed(2)}`);
  }
  closePath() {
    this.d.push("Z");
  }
  arc(x, y, r, from, to, back) {
    const point = (t) => `${(x + r * Math.cos(t)).toFixed(2)} ${(y + r * Math.sin(t)).toFixed(2)}`;
    const way = back ? 0 : 1, size = r.toFixed(2);
    if (Math.abs(to - from) >= 2 * Math.PI - 1e-9) {
      const half = `A${size} ${size} 0 1 1 `;
      this.d.push(`M${point(0)}${half}${point(Math.PI)}${half}${point(0)}`);
    } else {
      const large = Math.abs(to - from) > Math.PI ? 1 : 0;
      this.d.push(`A${size} ${size} 0 ${large} ${way} ${point(to)}`);
    }
  }
}

// The geodesic between two points of the disk, in pixels.
function traceGeodesic(path, frame, px, py, qx, qy) {
  const { x, y, r } = frame;
  path.moveTo(x + r * px, y - r * py);
  const circle = geodesicCircle(px, py, qx, qy);
  if (!circle) {
    path.lineTo(x + r * qx, y - r * qy);
    return;
  }
  const from = Math.atan2(-(py - circle.y), px - circle.x), to = Math.atan2(-(qy - circle.y), qx - circle.x);
  let turn = to - from;
  if (turn > Math.PI) turn -= 2 * Math.PI;
  if (turn < -Math.PI) turn += 2 * Math.PI;
  path.arc(x + r * circle.x, y - r * circle.y, r * circle.r, from, from + turn, turn < 0);
}

// A closed outline of the disk after an isometry; along the rim it follows the rim.
function traceOutline(path, frame, view, outline) {
  const { x, y, r } = frame;
  let last = null;
  for (let k = 0; k < outline.length; k += 2) {
    const [u, v] = mobius(view, outline[k], outline[k + 1]);
    const rim = outline[k] * outline[k] + outline[k + 1] * outline[k + 1] > 1 - 1e-9;
    if (k === 0) path.moveTo(x + r * u, y - r * v);
    else if (rim && last.rim) {
      // an isometry keeps the sense of rotation, however far it stretches the step
      const ccw = last.x * outline[k + 1] - last.y * outline[k] > 0, from = Math.atan2(-last.v, last.u);
      let turn = Math.atan2(-v, u) - from;
      if (ccw && turn > 0) turn -= 2 * Math.PI;
      if (!ccw && turn < 0) turn += 2 * Math.PI;
      path.arc(x, y, r, from, from + turn, ccw);
    } else path.lineTo(x + r * u, y - r * v);
    last = { u, v, rim, x: outline[k], y: outline[k + 1] };
  }
  path.closePath();
}
