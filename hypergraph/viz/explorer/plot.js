// One disk on the page: its view, its three canvases, and what the pointer does to it.

const ALL_EDGES = 6000; // the most edges that are drawn without being asked for
const MOVING_EDGES = 1500; // the most that are drawn while the disk moves
const MARGIN = 14;

class Plot {
  constructor(app, scene, index) {
    Object.assign(this, { app, scene, index });
    this.element = make("section", { class: "plot", "aria-label": scene.title });
    this.under = make("canvas", { class: "layer" });
    this.middle = make("canvas", { class: "layer" });
    this.over = make("canvas", {
      class: "layer over", tabindex: "0", role: "application",
      "aria-label": `Poincaré disk of ${scene.title} with ${scene.n} nodes. Arrows move it, plus and minus zoom, ` +
        "Enter chooses the node nearest to the centre, question mark lists all keys.",
    });
    this.canvases = make("div", { class: "canvases" }, this.under, this.middle, this.over);
    this.element.append(make("p", { class: "caption" }, scene.title), this.canvases, make("p", { class: "note" }, scene.note));
    this.places = new Float32Array(2 * scene.n);
    this.rgba = new Uint8Array(4 * scene.n);
    this.hovered = -1;
    this.stale = true; // the colours have to be made again
    this.drawn = ""; // what the layer below shows
    this.empty = false; // whether the layer above is
    this.moving = false;
    this.lassoPath = null;
    this.listen();
  }

  start() {
    const { painter } = this.app.page, { n } = this.scene;
    const webgl = painter === "canvas" ? null : WebGLPainter.make(this.middle, n, painter === "webgl");
    this.painter = webgl ?? new PixelPainter(this.middle, n);
    this.resize();
  }

  resize() {
    const box = this.canvases.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    this.width = Math.max(50, box.width);
    this.height = Math.max(50, box.height);
    for (const canvas of [this.under, this.middle, this.over]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
      if (canvas !== this.middle || this.painter.name === "canvas") flatContext(canvas).setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.drawn = "";
    this.empty = false;
  }

  // Where the disk is on the screen: centre and radius in pixels.
  frame() {
    const { zoom, x, y } = this.app.state.lens, room = Math.min(this.width, this.height) / 2 - MARGIN;
    return { x: this.width / 2 + x * room, y: this.height / 2 - y * room, r: room * zoom, room };
  }

  toDisk(px, py) {
    const { x, y, r } = this.frame();
    return [(px - x) / r, (y - py) / r];
  }

  diameter() {
    const n = this.scene.n, zoom = Math.min(2.5, Math.sqrt(this.app.state.lens.zoom));
    const small = Math.min(1, Math.max(0.6, this.frame().room / 300)); // of a phone's disk
    return zoom * small * (n <= 300 ? 9 : n <= 3000 ? 6 : n <= 30000 ? 4 : n <= 200000 ? 3 : 2);
  }

  // All points through the view, in float64, to pixels.
  project() {
    const g = this.app.state.view, b = this.scene.half, out = this.places, n = this.scene.n;
    const { x: cx, y: cy, r } = this.frame();
    const [p, q, u, w] = g;
    for (let i = 0, k = 0; i < n; i++, k += 2) {
      const x = b[k], y = b[k + 1], a = Math.sqrt(1 + x * x + y * y);
      const nx = p * x - q * y + u * a, ny = p * y + q * x + w * a;
      const dx = u * x + w * y + p * a, dy = u * y - w * x - q * a;
      const k1 = r / (dx * dx + dy * dy);
      out[k] = cx + (nx * dx + ny * dy) * k1;
      out[k + 1] = cy - (ny * dx - nx * dy) * k1;
    }
  }

  recolour() {
    const { scene, rgba, app } = this, column = scene.columns.get(app.state.colour), grey = rgb(app.page.ink);
    const chosen = app.chosen(this), alpha = scene.n > 3000 ? 215 : 235;
    let table = null, low = 0, high = 1;
    if (column && column.names) table = namedColours(app.page, column).map(rgb);
    else if (column) {
      [low, high] = column.range;
      table = app.page.ramp.map(rgb);
    }
    for (let i = 0; i < scene.n; i++) {
      let c = grey;
      if (column) {
        const v = column.values[i];
        if (column.names) c = v >= 0 ? table[v] : grey;
        else if (Number.isFinite(v)) c = table[Math.round(((v - low) / (high - low || 1)) * (table.length - 1))];
      } else c = rgb(app.page.palette[0]);
      rgba.set(c, 4 * i);
      rgba[4 * i + 3] = scene.hidden[i] ? 0 : chosen && !chosen.has(i) ? 45 : alpha;
    }
    this.painter.colour(rgba);
    this.filtered = true;
    this.stale = false;
  }

  draw() {
    if (this.stale) this.recolour();
    this.project();
    this.painter.draw(this.places, this.width, this.height, this.diameter());
    this.drawUnder();
    this.drawOver();
  }

  // The layers that are drawn by paths, each as { fill, stroke, width, alpha, trace }; SVG export uses them too.
  shapes() {
    const { scene, app } = this, { state, page } = app, frame = this.frame(), list = [];
    const disk = (path) => path.arc(frame.x, frame.y, frame.r, 0, 2 * Math.PI);
    list.push({ fill: page.ink, alpha: 0.07, trace: disk });
    if (state.regions)
      for (const region of scene.regions)
        list.push({
          fill: scene.colours[region.label], alpha: 0.2,
          trace: (path) => region.outlines.forEach((o) => traceOutline(path, frame, state.view, o)),
        });
    if (this.showsEdges())
      list.push({ stroke: page.ink, width: 0.7, alpha: this.edgeAlpha(), trace: (path) => this.traceEdges(path, frame) });
    if (state.horospheres)
      for (const ball of scene.horospheres) {
        const circle = horocircle(state.view, ball);
        list.push({
          stroke: scene.colours[ball.label], width: 1.6, alpha: 0.95,
          trace: (path) => {
            path.moveTo(frame.x + frame.r * (circle.x + circle.r), frame.y - frame.r * circle.y);
            path.arc(frame.x + frame.r * circle.x, frame.y - frame.r * circle.y, frame.r * circle.r, 0, 2 * Math.PI);
          },
        });
      }
    list.push({ stroke: page.ink, width: 1.3, alpha: 1, trace: disk });
    return list;
  }

  showsEdges() {
    const count = this.scene.edges.length / 2, { edges } = this.app.state;
    if (!edges || !count) return false;
    return count <= (this.moving ? MOVING_EDGES : edges === "all" ? Infinity : ALL_EDGES);
  }

  edgeAlpha() {
    return Math.min(0.6, Math.max(0.12, 700 / (this.scene.edges.length / 2)));
  }

  disk(i) {
    const { x, y, r } = this.frame();
    return [(this.places[2 * i] - x) / r, (y - this.places[2 * i + 1]) / r];
  }

  traceEdges(path, frame) {
    const { edges, hidden } = this.scene;
    for (let k = 0; k < edges.length; k += 2) {
      if (hidden[edges[k]] || hidden[edges[k + 1]]) continue;
      traceGeodesic(path, frame, ...this.disk(edges[k]), ...this.disk(edges[k + 1]));
    }
  }

  paint(context, shape) {
    context.globalAlpha = shape.alpha;
    context.beginPath();
    shape.trace(context);
    if (shape.fill) {
      context.fillStyle = shape.fill;
      context.fill("evenodd");
    } else {
      context.strokeStyle = shape.stroke;
      context.lineWidth = shape.width;
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  drawUnder() {
    const { scene } = this, { state } = this.app;
    const follows = this.showsEdges() || (state.horospheres && scene.horospheres.length) || (state.regions && scene.regions.length);
    const shown = JSON.stringify([state.lens, state.horospheres, state.regions, this.showsEdges(), follows ? state.view : null]);
    // the rim alone stays while the disk is dragged; hidden nodes take their edges with them
    if (shown === this.drawn && !this.filtered) return;
    this.drawn = shown;
    this.filtered = false;
    const context = flatContext(this.under);
    context.clearRect(0, 0, this.width, this.height);
    for (const shape of this.shapes()) this.paint(context, shape);
  }

  // Chosen node with its edges, hovered node, labels, lasso.
  marks() {
    const { scene, app } = this, frame = this.frame(), list = [], r = this.diameter() / 2;
    const node = app.node(this), ring = (i, extra) => (path) => {
      path.moveTo(this.places[2 * i] + r + extra, this.places[2 * i + 1]);
      path.arc(this.places[2 * i], this.places[2 * i + 1], r + extra, 0, 2 * Math.PI);
    };
    if (node >= 0) {
      const near = scene.neighbours(node);
      if (near.length)
        list.push({
          stroke: app.page.accent, width: 1.4, alpha: 0.85,
          trace: (path) => near.forEach((j) => traceGeodesic(path, frame, ...this.disk(node), ...this.disk(j))),
        });
      for (const j of near.length <= 400 ? near : []) list.push({ stroke: app.page.accent, width: 1.2, alpha: 0.9, trace: ring(j, 1) });
      list.push({ stroke: app.page.accent, width: 3, alpha: 1, trace: ring(node, 3) });
    }
    if (this.hovered >= 0 && this.hovered !== node) list.push({ stroke: app.ground().text, width: 2, alpha: 1, trace: ring(this.hovered, 2) });
    if (this.lassoPath)
      list.push({
        stroke: app.page.accent, width: 1.5, alpha: 1,
        trace: (path) => {
          this.lassoPath.forEach(([x, y], k) => (k ? path.lineTo(x, y) : path.moveTo(x, y)));
          path.closePath();
        },
      });
    return list;
  }

  drawOver() {
    const context = flatContext(this.over), marks = this.marks(), labels = this.labels(context);
    if (this.empty && !marks.length && !labels.length) return;
    this.empty = !marks.length && !labels.length;
    context.clearRect(0, 0, this.width, this.height);
    for (const mark of marks) this.paint(context, mark);
    const ground = this.app.ground();
    context.textBaseline = "middle";
    context.lineJoin = "round";
    for (const { text, x, y } of labels) {
      context.strokeStyle = ground.back;
      context.lineWidth = 3;
      context.strokeText(text, x, y);
      context.fillStyle = ground.text;
      context.fillText(text, x, y);
    }
  }

  // Labels where there is room: the chosen node's first, then by degree; none covers another.
  labels(context) {
    context.font = "12px system-ui, sans-serif";
    const placed = [], { scene, app } = this, gap = this.diameter() / 2 + 4;
    const put = (i) => {
      const text = clip(scene.id(i), 24), width = context.measureText(text).width;
      for (const left of [false, true]) {
        const x = this.places[2 * i] + (left ? -gap - width : gap), y = this.places[2 * i + 1];
        const box = { x0: x - 3, x1: x + width + 3, y0: y - 8, y1: y + 8 };
        if (box.x0 < 0 || box.x1 > this.width || box.y0 < 0 || box.y1 > this.height) continue;
        if (placed.some((o) => o.box.x0 < box.x1 && box.x0 < o.box.x1 && o.box.y0 < box.y1 && box.y0 < o.box.y1)) continue;
        placed.push({ text, x, y, box });
        return;
      }
    };
    const node = app.node(this);
    if (node >= 0) put(node);
    if (this.hovered >= 0 && this.hovered !== node) put(this.hovered);
    if (!app.state.labels || (this.moving && scene.n > 3000)) return placed;
    const { x, y, r } = this.frame();
    for (let k = 0; k < Math.min(scene.n, 400) && placed.length < 40; k++) {
      const i = scene.order[k], px = this.places[2 * i], py = this.places[2 * i + 1];
      // at the very rim a label would hide others and say little
      if (scene.hidden[i] || i === node || Math.hypot(px - x, py - y) > 0.97 * r) continue;
      if (px > 0 && py > 0 && px < this.width && py < this.height) put(i);
    }
    return placed;
  }

  // The visible node nearest to a place of the screen, within `reach` pixels.
  pick(px, py, reach = this.diameter() / 2 + 5) {
    const { places, scene } = this;
    let best = -1, least = reach * reach;
    for (let i = 0, k = 0; i < scene.n; i++, k += 2) {
      const dx = places[k] - px, dy = places[k + 1] - py, d = dx * dx + dy * dy;
      if (d < least && !scene.hidden[i]) {
        least = d;
        best = i;
      }
    }
    return best;
  }

  inside(polygon) {
    const found = new Set(), { places, scene } = this;
    for (let i = 0; i < scene.n; i++) {
      if (scene.hidden[i]) continue;
      const x = places[2 * i], y = places[2 * i + 1];
      let odd = false;
      for (let j = 0, k = polygon.length - 1; j < polygon.length; k = j++) {
        const [ax, ay] = polygon[j], [bx, by] = polygon[k];
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
      }
      if (odd) found.add(i);
    }
    return found;
  }

  listen() {
    const at = (event) => {
      const box = this.over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const fingers = new Map();
    let last = null, travelled = 0, spread = 0;
    this.over.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      this.over.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, at(event));
      last = at(event);
      travelled = spread = 0;
      this.app.stop();
      if (this.app.state.lasso || event.shiftKey) this.lassoPath = [last];
    });
    this.over.addEventListener("pointermove", (event) => {
      const now = at(event);
      if (!last) {
        this.hover(now);
        return;
      }
      fingers.set(event.pointerId, now);
      travelled += Math.hypot(now[0] - last[0], now[1] - last[1]);
      if (fingers.size === 2) {
        const [p, q] = [...fingers.values()], wide = Math.hypot(p[0] - q[0], p[1] - q[1]);
        if (spread) this.zoom(wide / spread, (p[0] + q[0]) / 2, (p[1] + q[1]) / 2);
        spread = wide;
      } else if (this.lassoPath) {
        this.lassoPath.push(now);
        this.app.redraw();
      } else this.drag(last, now);
      last = now;
    });
    const end = (event) => {
      fingers.delete(event.pointerId);
      if (!last || fingers.size) return;
      const click = travelled < 4, place = last;
      last = null;
      this.moving = false;
      if (this.lassoPath && !click) this.app.lasso(this, this.inside(this.lassoPath));
      else if (click && event.type === "pointerup") this.app.choose(this, this.pick(...place));
      this.lassoPath = null;
      this.app.redraw();
    };
    this.over.addEventListener("pointerup", end);
    this.over.addEventListener("pointercancel", end);
    this.over.addEventListener("pointerleave", () => this.hover(null));
    this.over.addEventListener("dblclick", (event) => {
      const node = this.pick(...at(event), 14);
      if (node >= 0) {
        this.app.choose(this, node);
        this.app.centre(this, node);
      }
    });
    this.over.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 240), ...at(event));
    }, { passive: false });
  }

  hover(place) {
    const node = place ? this.pick(...place) : -1;
    if (node === this.hovered && node < 0) return;
    this.hovered = node;
    this.over.style.cursor = node >= 0 ? "pointer" : "";
    this.app.tip(this, node, place);
    this.app.follow(this, node);
  }

  // Move the disk by the isometry that takes one place of the pointer to the next.
  drag(from, to) {
    const inner = ([x, y]) => {
      const r = Math.hypot(x, y), most = 0.985;
      return r > most ? [(x / r) * most, (y / r) * most] : [x, y];
    };
    const p = inner(this.toDisk(...from)), q = inner(this.toDisk(...to));
    this.moving = true;
    this.app.move(transvection(...p, ...q));
  }

  // Magnify the picture about a place of the screen; the geometry stays.
  zoom(factor, px, py) {
    const { lens } = this.app.state, { room } = this.frame();
    const zoom = Math.max(0.5, Math.min(5000, lens.zoom * factor)), k = zoom / lens.zoom;
    const ox = (px - this.width / 2) / room, oy = (this.height / 2 - py) / room;
    this.app.look({ zoom, x: ox - k * (ox - lens.x), y: oy - k * (oy - lens.y) });
  }
}
