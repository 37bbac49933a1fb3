// The page: one state for all disks, so that their views are linked; keys, permalink, start.

const KEYS = [
  ["drag", "move the disk by an isometry"], ["wheel, + −", "zoom"], ["arrows", "move"],
  ["click, Enter", "choose a node (Enter: nearest to the centre)"], ["double click, C", "bring a node to the centre"],
  ["H", "home"], ["Shift + drag, L", "lasso"], ["E", "all edges"], ["O", "class horospheres"], ["R", "decision regions"],
  ["N", "labels"], ["T", "light or dark"], ["/", "search"], ["P, S", "save as PNG or SVG"], ["Esc", "clear"], ["?", "this list"],
];

class App {
  constructor(page) {
    this.page = page;
    this.reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const scenes = page.scenes.map((raw) => new Scene(raw));
    share(scenes, page);
    this.plots = scenes.map((each, index) => new Plot(this, each, index));
    const scene = this.plots[0].scene;
    this.state = {
      view: HOME, lens: { zoom: 1, x: 0, y: 0 }, colour: [...scene.columns.keys()][0] ?? "", hidden: new Set(), range: null,
      // a section says less of the points than the picture of two dimensions: it is drawn on request
      edges: true, horospheres: this.any((s) => !s.section && s.horospheres.length), regions: this.any((s) => !s.section && s.regions.length),
      labels: scene.ids !== null && scene.n <= 5000, lasso: false, node: null, plot: 0,
      theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
    };
    this.selection = null;
    this.due = 0;
    this.frames = 0;
  }

  any(test) {
    return this.plots.some((plot) => test(plot.scene) > 0);
  }

  start() {
    const stage = document.getElementById("stage");
    stage.append(...this.plots.map((plot) => plot.element));
    stage.dataset.count = this.plots.length;
    this.toolbar(document.getElementById("tools"));
    this.panel = new Panel(this, document.getElementById("panel"));
    this.live = document.getElementById("live");
    this.bubble = document.getElementById("tip");
    this.read();
    this.setTheme(this.state.theme);
    for (const plot of this.plots) plot.start();
    new ResizeObserver(() => {
      for (const plot of this.plots) plot.resize();
      this.paint();
    }).observe(stage);
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => {
      if (location.hash !== this.written) {
        this.read();
        this.refresh();
      }
    });
    this.refresh();
    this.paint();
  }

  toolbar(root) {
    const button = (name, label, key, action, toggle) => {
      const element = make("button", { type: "button", id: `do-${name}`, title: `${label} (${key})`, onclick: action, ...(toggle ? { "aria-pressed": "false" } : {}) }, label);
      root.append(element);
      return element;
    };
    button("home", "Home", "H", () => this.home());
    this.toggles = { lasso: button("lasso", "Lasso", "L", () => this.toggle("lasso"), true) };
    if (this.any((s) => s.edges.length)) this.toggles.edges = button("edges", "Edges", "E", () => this.toggle("edges"), true);
    if (this.any((s) => s.horospheres.length)) this.toggles.horospheres = button("horospheres", "Horospheres", "O", () => this.toggle("horospheres"), true);
    if (this.any((s) => s.regions.length)) this.toggles.regions = button("regions", "Regions", "R", () => this.toggle("regions"), true);
    this.toggles.labels = button("labels", "Labels", "N", () => this.toggle("labels"), true);
    button("theme", "Theme", "T", () => this.setTheme(this.state.theme === "dark" ? "light" : "dark"));
    button("png", "PNG", "P", () => this.save("png"));
    button("svg", "SVG", "S", () => this.save("svg"));
    button("link", "Link", "copies the address of this view", async () => {
      this.write();
      await copy(location.href);
      this.say("The address of this view is copied.");
    });
    button("help", "?", "keys", () => this.help());
  }

  ground() {
    return this.state.theme === "dark" ? { back: "#14171c", text: "#e6e6e6" } : { back: "#ffffff", text: "#1d2126" };
  }

  // Everything that depends on the state, again.
  refresh() {
    this.filter();
    this.panel.showLegend();
    for (const [name, element] of Object.entries(this.toggles)) element.setAttribute("aria-pressed", String(!!this.state[name]));
    document.getElementById("stage").classList.toggle("lassoing", this.state.lasso);
    const plot = this.plots[this.state.plot] ?? this.plots[0];
    this.panel.showNode(plot, this.node(plot));
    this.redraw();
  }

  redraw() {
    if (this.due) return;
    this.due = requestAnimationFrame(() => this.paint());
  }

  paint() {
    cancelAnimationFrame(this.due);
    this.due = 0;
    this.frames++;
    for (const plot of this.plots) plot.draw();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.write(), 250);
  }

  move(g) {
    this.state.view = compose(g, this.state.view);
    this.redraw();
  }

  look(lens) {
    this.state.lens = lens;
    this.redraw();
  }

  stop() {
    cancelAnimationFrame(this.animation);
    for (const plot of this.plots) plot.moving = false;
  }

  // Run step(t) for t from 0 to 1, evenly eased; at once where the system asks for less motion.
  animate(step, milliseconds = 500) {
    this.stop();
    const begin = performance.now();
    const tick = () => {
      const t = this.reduced ? 1 : Math.min(1, (performance.now() - begin) / milliseconds);
      for (const plot of this.plots) plot.moving = t < 1;
      step(t * t * (3 - 2 * t));
      this.redraw();
      if (t < 1) this.animation = requestAnimationFrame(tick);
    };
    tick();
  }

  centre(plot, i) {
    const { view, lens } = this.state, b = plot.scene.half;
    const [x, y] = moved(view, b[2 * i], b[2 * i + 1]);
    this.animate((t) => {
      this.state.view = compose(towardsOrigin(x, y, t), view);
      this.state.lens = { zoom: lens.zoom, x: lens.x * (1 - t), y: lens.y * (1 - t) };
    });
  }

  home() {
    const { view, lens } = this.state;
    // the origin back to the centre, then the turn that is left
    const a = Math.hypot(view[0], view[1]), x = (view[2] * view[0] - view[3] * view[1]) / a, y = (view[2] * view[1] + view[3] * view[0]) / a;
    const turn = Math.atan2(view[1], view[0]), zoom = Math.log(lens.zoom);
    this.animate((t) => {
      const straight = compose(towardsOrigin(x, y, t), view);
      this.state.view = t === 1 ? HOME : compose([Math.cos(-turn * t), Math.sin(-turn * t), 0, 0], straight);
      this.state.lens = { zoom: Math.exp(zoom * (1 - t)), x: lens.x * (1 - t), y: lens.y * (1 - t) };
    });
  }

  // The node that is chosen, in a plot: the same id in every run.
  node(plot) {
    return this.state.node === null ? -1 : plot.scene.find(this.state.node);
  }

  chosen(plot) {
    if (!this.selection) return null;
    if (this.selection.plot === plot) return this.selection.nodes;
    if (!this.selection.elsewhere.has(plot)) {
      const { plot: source, nodes } = this.selection;
      this.selection.elsewhere.set(plot, new Set([...nodes].map((i) => plot.scene.find(source.scene.id(i)))));
    }
    return this.selection.elsewhere.get(plot);
  }

  choose(plot, i) {
    this.state.node = i < 0 ? null : plot.scene.id(i);
    this.state.plot = plot.index;
    this.panel.showNode(plot, i);
    if (i >= 0) this.say(this.describe(plot, i).map((pair) => pair.join(": ")).join(", "));
    this.redraw();
  }

  // What is known of a node, as pairs of words.
  describe(plot, i) {
    const { scene } = plot, pairs = [["id", scene.id(i)]];
    for (const name of scene.columns.keys()) pairs.push([name, scene.text(name, i)]);
    if (!scene.columns.has("distance to the origin"))
      pairs.push(["distance to the origin", readable(distance([scene.half[2 * i], scene.half[2 * i + 1]], [0, 0]) / scene.s)]);
    if (scene.distances)
      scene.classes.forEach((name, k) => {
        const d = scene.distances[i * scene.classes.length + k];
        pairs.push([`to the horosphere of ${name}`, `${readable(Math.abs(d))} ${d >= 0 ? "inside" : "outside"}`]);
      });
    return pairs;
  }

  lasso(plot, nodes) {
    this.selection = nodes && nodes.size ? { plot, nodes, elsewhere: new Map() } : null;
    this.state.lasso = false;
    this.panel.showSelection(this.selection);
    if (this.selection) this.say(`${nodes.size} nodes selected.`);
    if (window.parent !== window) {
      const ids = this.selection ? [...nodes].map((i) => plot.scene.id(i)) : [];
      window.parent.postMessage({ hypergraph: this.page.key, selected: ids }, "*");
    }
    this.refresh();
  }

  // Hover: a small box at the pointer, and the same node in the other disks.
  tip(plot, i, place) {
    this.bubble.hidden = i < 0;
    if (i < 0) return;
    const { scene } = plot, lines = [["id", scene.id(i)]];
    for (const name of ["class", "prediction", "confidence"]) if (scene.columns.has(name)) lines.push([name, scene.text(name, i)]);
    lines.push(...this.describe(plot, i).filter(([name]) => name.startsWith("distance")));
    if (scene.distances) {
      // the nearest horosphere; all of them are in the panel
      const near = this.describe(plot, i).filter(([name]) => name.startsWith("to the horosphere"));
      lines.push(...(near.length <= 4 ? near : near.sort((p, q) => parseFloat(p[1]) - parseFloat(q[1])).slice(0, 3)));
    }
    this.bubble.replaceChildren(rows(lines.map(([name, value]) => [name, clip(value, 40)])));
    const box = plot.over.getBoundingClientRect(), own = this.bubble.getBoundingClientRect();
    const x = box.left + place[0] + 14, y = box.top + place[1] + 14;
    this.bubble.style.left = `${Math.max(4, x + own.width > innerWidth - 4 ? x - own.width - 28 : x)}px`;
    this.bubble.style.top = `${Math.max(4, y + own.height > innerHeight - 4 ? y - own.height - 28 : y)}px`;
  }

  follow(plot, i) {
    for (const other of this.plots) {
      if (other !== plot) other.hovered = i < 0 ? -1 : other.scene.find(plot.scene.id(i));
      if (!this.due) other.drawOver();
    }
  }

  setColour(name) {
    Object.assign(this.state, { colour: name, hidden: new Set(), range: null });
    this.refresh();
  }

  toggleValue(k) {
    const { hidden } = this.state;
    if (!hidden.delete(k)) hidden.add(k);
    this.refresh();
    // the legend was made anew: keep the place of someone who uses the keyboard
    this.panel.legend.querySelector(`button[value="${k}"]`)?.focus({ preventScroll: true });
  }

  setRange(range) {
    this.state.range = range;
    this.filter();
    this.redraw();
  }

  filter() {
    const { colour, hidden, range: limits } = this.state;
    for (const { scene } of this.plots) {
      const column = scene.columns.get(colour);
      for (let i = 0; i < scene.n; i++) {
        const v = column ? column.values[i] : 0;
        scene.hidden[i] = column && (column.names ? hidden.has(v) : limits && !(v >= limits[0] && v <= limits[1])) ? 1 : 0;
      }
    }
    for (const plot of this.plots) plot.stale = true;
  }

  // Edges: few are drawn by themselves, many on request.
  toggle(name) {
    const many = this.plots.some((plot) => plot.scene.edges.length / 2 > ALL_EDGES);
    if (name === "edges" && many) this.state.edges = this.state.edges === "all" ? false : "all";
    else this.state[name] = !this.state[name];
    this.refresh();
  }

  setTheme(theme) {
    this.state.theme = theme;
    document.documentElement.dataset.theme = theme;
    if (this.plots[0].painter) this.redraw();
  }

  say(text) {
    this.live.textContent = text;
  }

  help() {
    const dialog = document.getElementById("help");
    if (!dialog.querySelector("table")) dialog.append(rows(KEYS), make("form", { method: "dialog" }, make("button", {}, "Close")));
    dialog.showModal();
  }

  async save(kind) {
    for (const plot of this.plots) {
      const name = (plot.scene.title.replace(/[^\w.-]+/g, "-") || "disk") + (this.plots.length > 1 ? `-${plot.index + 1}` : "");
      download(`${name}.${kind}`, kind === "png" ? await pngOf(plot) : svgOf(plot));
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("help").open) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape") {
      Object.assign(this.state, { node: null, lasso: false });
      if (typing) event.target.blur();
      this.lasso(null, null);
      return;
    }
    const onButton = event.target.tagName === "BUTTON" || event.target.tagName === "SUMMARY";
    if (typing || (onButton && (event.key === "Enter" || event.key === " "))) return;
    const plot = this.plots[this.state.plot] ?? this.plots[0], step = 0.12;
    const by = (x, y) => () => this.move(transvection(0, 0, x, y));
    const zoom = (k) => () => plot.zoom(k, plot.width / 2, plot.height / 2);
    const actions = {
      ArrowLeft: by(step, 0), ArrowRight: by(-step, 0), ArrowUp: by(0, -step), ArrowDown: by(0, step),
      "+": zoom(1.2), "=": zoom(1.2), "-": zoom(1 / 1.2), h: () => this.home(), Home: () => this.home(),
      Enter: () => this.choose(plot, plot.pick(plot.width / 2, plot.height / 2, Infinity)),
      c: () => this.node(plot) >= 0 && this.centre(plot, this.node(plot)),
      l: () => this.toggle("lasso"), e: () => this.toggle("edges"), o: () => this.toggle("horospheres"), r: () => this.toggle("regions"),
      n: () => this.toggle("labels"), t: () => this.setTheme(this.state.theme === "dark" ? "light" : "dark"),
      p: () => this.save("png"), s: () => this.save("svg"), "/": () => this.panel.search.focus(), "?": () => this.help(),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // The state in the fragment of the address.
  write() {
    const { view, lens, colour, hidden, range: limits, node, plot, theme, edges, horospheres, regions, labels } = this.state;
    const short = { v: view, z: [lens.zoom, lens.x, lens.y], c: colour, h: [...hidden], g: limits, i: node, p: plot, t: theme, s: [edges, horospheres, regions, labels] };
    this.written = "#" + encodeURIComponent(JSON.stringify(short));
    try {
      history.replaceState(null, "", this.written);
    } catch {
      // a page inside a notebook has no address of its own
    }
  }

  read() {
    let short;
    try {
      short = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return;
    }
    if (typeof short !== "object" || short === null) return;
    const numbers = (x, n) => Array.isArray(x) && x.length === n && x.every(Number.isFinite), { state } = this;
    if (numbers(short.v, 4) && short.v[0] ** 2 + short.v[1] ** 2 > short.v[2] ** 2 + short.v[3] ** 2) state.view = normalised(short.v);
    if (numbers(short.z, 3)) state.lens = { zoom: Math.max(0.5, Math.min(5000, short.z[0])), x: short.z[1], y: short.z[2] };
    if (this.plots.some((plot) => plot.scene.columns.has(short.c))) state.colour = short.c;
    if (Array.isArray(short.h)) state.hidden = new Set(short.h.filter(Number.isInteger));
    if (numbers(short.g, 2)) state.range = short.g;
    if (typeof short.i === "string") state.node = short.i;
    if (this.plots[short.p]) state.plot = short.p;
    if (short.t === "dark" || short.t === "light") state.theme = short.t;
    if (Array.isArray(short.s)) ["edges", "horospheres", "regions", "labels"].forEach((name, k) => (state[name] = short.s[k] === "all" ? "all" : !!short.s[k]));
  }
}

const app = new App(JSON.parse(document.getElementById("data").textContent));
window.explorer = app; // for tests, and for whoever opens the console
app.start();
