// The side panel: colours and legend, search, the chosen node, the lasso's table, curves, settings.

const SHOWN_ROWS = 300;

class Panel {
  constructor(app, root) {
    Object.assign(this, { app, root });
    this.legend = make("div", { class: "legend", role: "group", "aria-label": "Legend; choose what is shown" });
    this.colour = make("select", { id: "colour", onchange: (event) => app.setColour(event.target.value) });
    const names = new Set(app.plots.flatMap((plot) => [...plot.scene.columns.keys()]));
    for (const name of names) this.colour.append(make("option", { value: name }, name));
    this.search = make("input", {
      id: "search", type: "search", placeholder: app.any((s) => s.classes.length) ? "id or class" : "id", autocomplete: "off", spellcheck: "false",
      oninput: () => this.find(),
      onkeydown: (event) => event.key === "Enter" && this.found.querySelector("button")?.click(),
    });
    this.found = make("div", { class: "found", "aria-live": "polite" });
    this.node = make("div", { id: "node", "aria-live": "polite" });
    this.table = make("div", { id: "selection" });
    root.append(
      this.section("Colour", true, make("label", { for: "colour", class: "hidden" }, "Colour by"), this.colour, this.legend),
      this.section("Search", true, make("label", { for: "search", class: "hidden" }, "Search"), this.search, this.found),
      this.section("Node", true, this.node),
      this.section("Selection", true, this.table),
    );
    for (const part of this.facts()) root.append(part);
    this.showNode(null, -1);
    this.showSelection(null);
  }

  section(title, open, ...children) {
    return make("details", { class: "part", open }, make("summary", {}, title), ...children);
  }

  showLegend() {
    const { app } = this, { state } = app;
    this.colour.value = state.colour;
    this.legend.replaceChildren();
    const owner = app.plots.find((plot) => plot.scene.columns.has(state.colour));
    if (!owner) return;
    const column = owner.scene.columns.get(state.colour);
    if (column.names) this.namedLegend(column);
    else this.numberLegend(column);
    const sections = new Set(app.plots.map((plot) => plot.scene.section).filter((text) => text));
    if (state.horospheres || state.regions)
      for (const text of sections) this.legend.append(make("p", { class: "faint" }, text[0].toUpperCase() + text.slice(1) + "."));
  }

  namedLegend(column) {
    const { app } = this, colours = namedColours(app.page, column), counts = [];
    for (const { scene } of app.plots) {
      const count = new Map();
      for (const v of scene.columns.get(column.name)?.values ?? []) count.set(v, (count.get(v) ?? 0) + 1);
      counts.push(count);
    }
    // of each run, where they differ
    const number = (k) => [...new Set(counts.map((count) => count.get(k) ?? 0))].join(" · ");
    const entry = (k, name, colour) => {
      const shown = !app.state.hidden.has(k);
      return make(
        "button",
        { type: "button", class: "entry", value: k, "aria-pressed": String(shown), title: shown ? "hide" : "show", onclick: () => app.toggleValue(k) },
        make("span", { class: "swatch", style: `background:${colour}` }),
        make("span", { class: "name" }, clip(name, 28)),
        make("span", { class: "count" }, number(k)),
      );
    };
    const present = (k) => counts.some((count) => count.has(k));
    column.names.forEach((name, k) => present(k) && this.legend.append(entry(k, name, colours[k])));
    if (present(-1)) this.legend.append(entry(-1, "none", app.page.ink));
  }

  numberLegend(column) {
    const { app } = this, [low, high] = column.range, [from, to] = app.state.range ?? [low, high];
    this.legend.append(
      make("div", { class: "ramp", style: `background:linear-gradient(90deg,${app.page.ramp.join(",")})` }),
      make("div", { class: "ends" }, make("span", {}, readable(low)), make("span", {}, readable(high))),
    );
    if (!(high > low)) return;
    const slider = (label, value, end) =>
      make("label", { class: "slide" }, label, make("input", {
        type: "range", min: low, max: high, step: "any", value, "aria-label": `${label} ${column.name}`,
        oninput: (event) => {
          const now = app.state.range ?? [low, high], next = [...now];
          next[end] = +event.target.value;
          app.setRange(next[0] <= low && next[1] >= high ? null : next);
        },
      }));
    this.legend.append(slider("from", from, 0), slider("to", to, 1));
  }

  find() {
    const { app } = this, text = this.search.value.trim().toLowerCase(), hits = [];
    this.found.replaceChildren();
    if (!text) return;
    let total = 0;
    app.plots.forEach((plot) => {
      const { scene } = plot, label = scene.columns.get("class");
      const name = (i) => (label && label.values[i] >= 0 ? label.names[label.values[i]].toLowerCase() : "");
      for (let i = 0; i < scene.n; i++) {
        const id = scene.id(i).toLowerCase(), rank = id === text ? 0 : id.startsWith(text) ? 1 : id.includes(text) ? 2 : label && name(i) === text ? 3 : 4;
        if (rank > 3) continue;
        total++;
        hits.push({ plot, i, rank });
      }
    });
    hits.sort((a, b) => a.rank - b.rank);
    this.found.append(make("p", { class: "faint" }, total === 1 ? "1 node" : `${total} nodes`));
    for (const { plot, i } of hits.slice(0, 12)) {
      const where = app.plots.length > 1 ? ` (${plot.index + 1})` : "";
      const go = () => {
        app.choose(plot, i);
        app.centre(plot, i);
      };
      this.found.append(make("button", { type: "button", class: "hit", onclick: go }, clip(plot.scene.id(i), 40) + where));
    }
  }

  showNode(plot, i) {
    this.node.replaceChildren();
    if (i < 0) {
      this.node.append(make("p", { class: "faint" }, "Click a node, or find one by its id."));
      return;
    }
    const { scene } = plot, { app } = this;
    this.node.append(make("p", { class: "id" }, scene.id(i)), rows(app.describe(plot, i)));
    const near = [...scene.neighbours(i)];
    if (near.length) {
      const list = make("div", { class: "neighbours" }, make("span", { class: "faint" }, `${near.length} neighbours: `));
      for (const j of near.slice(0, 30)) {
        const go = () => {
          app.choose(plot, j);
          app.centre(plot, j);
        };
        list.append(make("button", { type: "button", class: "link", onclick: go }, clip(scene.id(j), 20)));
      }
      if (near.length > 30) list.append(make("span", { class: "faint" }, "…"));
      this.node.append(list);
    }
    this.node.append(make("button", { type: "button", onclick: () => app.centre(plot, i) }, "Bring to the centre"));
  }

  showSelection(selection) {
    this.table.replaceChildren();
    if (!selection) {
      this.table.append(make("p", { class: "faint" }, "Draw around nodes with Shift, or with Lasso."));
      return;
    }
    const { plot, nodes } = selection, { scene } = plot, columns = [...scene.columns.keys()], all = [...nodes];
    const line = (i) => [scene.id(i), ...columns.map((name) => scene.text(name, i))];
    const tsv = () => [["id", ...columns], ...all.map(line)].map((cells) => cells.map(flat).join("\t")).join("\n");
    const done = make("span", { class: "faint", role: "status" });
    this.table.append(
      make("p", {}, all.length === 1 ? "1 node " : `${all.length} nodes `,
        make("button", { type: "button", id: "copy", onclick: async () => { await copy(tsv()); done.textContent = " copied"; } }, "Copy"),
        " ",
        make("button", { type: "button", onclick: () => this.app.lasso(null, null) }, "Clear"), done),
    );
    const head = make("tr", {}, ...["id", ...columns].map((name) => make("th", { scope: "col" }, name)));
    const body = make("tbody", {}, ...all.slice(0, SHOWN_ROWS).map((i) => make("tr", {}, ...line(i).map((cell) => make("td", {}, clip(cell, 40))))));
    this.table.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Selected nodes" }, make("table", {}, make("thead", {}, head), body)));
    if (all.length > SHOWN_ROWS) this.table.append(make("p", { class: "faint" }, `The first ${SHOWN_ROWS} are shown; Copy takes all.`));
  }

  // Curves and tables of what was trained, for each run.
  facts() {
    const parts = [];
    for (const { scene, index } of this.app.plots) {
      const which = this.app.plots.length > 1 ? ` (${index + 1})` : "";
      const drawn = this.curves(scene);
      if (drawn.length) parts.push(this.section(`Training${which}`, index === 0, ...drawn));
      for (const [name, values] of Object.entries(scene.facts))
        if (Object.keys(values).length)
          parts.push(this.section(name[0].toUpperCase() + name.slice(1) + which, name === "metrics", rows(Object.entries(values))));
    }
    return parts;
  }

  curves(scene) {
    const { page } = this.app, figures = [];
    for (const { name, title } of page.panels) {
      const series = scene.curves[name];
      if (!series) continue;
      const W = 260, H = 84, values = series.flatMap((s) => s.value).filter((v) => v !== null);
      const last = Math.max(...series.flatMap((s) => s.epoch)), first = Math.min(...series.flatMap((s) => s.epoch));
      const low = Math.min(...values), high = Math.max(...values);
      if (!(high > low)) continue; // a curve that never moves says nothing
      const X = (e) => 2 + ((e - first) / (last - first || 1)) * (W - 4), Y = (v) => H - 3 - ((v - low) / (high - low || 1)) * (H - 6);
      const svg = vector("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title}: from ${readable(values[0])} to ${readable(values[values.length - 1])}` });
      series.forEach((s, k) => {
        const d = s.value.map((v, j) => (v === null ? "" : `${j && s.value[j - 1] !== null ? "L" : "M"}${X(s.epoch[j]).toFixed(1)} ${Y(v).toFixed(1)}`)).join("");
        svg.append(vector("path", { d, fill: "none", stroke: page.palette[k % page.palette.length], "stroke-width": "1.3" }));
      });
      figures.push(make("figure", {}, make("figcaption", {}, title, make("span", { class: "faint" }, `${readable(low)} – ${readable(high)}`)), svg));
    }
    return figures;
  }
}

function flat(text) {
  return text.replace(/[\t\r\n]+/g, " ");
}
