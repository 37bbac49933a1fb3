// A run as the page holds it: typed arrays, columns, neighbours, colours.

const TYPES = {
  f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array, u2: Uint16Array, i2: Int16Array,
  u1: Uint8Array, i1: Int8Array,
};

function decode(packed) {
  const text = atob(packed.data), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new TYPES[packed.type](bytes.buffer);
}

class Scene {
  constructor(raw) {
    Object.assign(this, { title: raw.title, note: raw.note, section: raw.section, s: raw.s, n: raw.n, classes: raw.classes });
    Object.assign(this, { horospheres: raw.horospheres, curves: raw.curves, facts: raw.facts });
    this.half = decode(raw.half);
    this.ids = raw.ids;
    this.columns = new Map(raw.columns.map((c) => [c.name, { ...c, values: decode(c.values) }]));
    this.edges = decode(raw.edges);
    this.distances = raw.distances ? decode(raw.distances) : null;
    this.regions = raw.regions.map((r) => ({ label: r.label, outlines: r.outlines.map(decode) }));
    this.hidden = new Uint8Array(this.n);
    this.places = null;
    this.link();
  }

  id(i) {
    return this.ids ? this.ids[i] : String(i);
  }

  find(id) {
    if (!this.places) {
      this.places = new Map();
      for (let i = this.n - 1; i >= 0; i--) this.places.set(this.id(i), i);
    }
    return this.places.has(id) ? this.places.get(id) : -1;
  }

  // Edges by node, in one array.
  link() {
    const count = new Uint32Array(this.n + 1), edges = this.edges;
    for (let k = 0; k < edges.length; k++) count[edges[k] + 1]++;
    for (let i = 0; i < this.n; i++) count[i + 1] += count[i];
    this.first = count.slice();
    this.adjacent = new Uint32Array(edges.length);
    for (let k = 0; k < edges.length; k += 2) {
      this.adjacent[count[edges[k]]++] = edges[k + 1];
      this.adjacent[count[edges[k + 1]]++] = edges[k];
    }
    // The nodes whose labels matter most come first.
    this.order = new Uint32Array(this.n);
    for (let i = 0; i < this.n; i++) this.order[i] = i;
    if (edges.length) {
      const degree = (i) => this.first[i + 1] - this.first[i];
      this.order.sort((i, j) => degree(j) - degree(i));
    }
  }

  neighbours(i) {
    return this.adjacent.subarray(this.first[i], this.first[i + 1]);
  }

  // The value of a column as a person reads it.
  text(column, i) {
    const c = this.columns.get(column), value = c.values[i];
    if (c.names) return value < 0 ? "–" : c.names[value];
    return readable(value);
  }
}

function readable(x) {
  if (!Number.isFinite(x)) return "–";
  if (Number.isInteger(x)) return String(x);
  const size = Math.abs(x);
  return size >= 1e-3 && size < 1e5 ? String(+x.toPrecision(5)) : x.toExponential(3);
}

function rgb(hex) {
  const v = parseInt(hex.slice(1), 16);
  return [v >> 16, (v >> 8) & 255, v & 255];
}

// The colours of a named column: the palette, or steps of the ramp where there are more names.
function namedColours(page, column) {
  if (column.name === "error") return page.rightWrong;
  const count = column.names.length;
  if (count <= page.palette.length) return page.palette.slice(0, count);
  return column.names.map((_, k) => page.ramp[Math.round((k * (page.ramp.length - 1)) / (count - 1))]);
}

// What runs side by side call the same has one list of names, or one range: a colour means the same in each of them.
function share(scenes, page) {
  const union = (lists) => [...new Set(lists.flat())];
  for (const name of union(scenes.map((scene) => [...scene.columns.keys()]))) {
    const columns = scenes.map((scene) => scene.columns.get(name)).filter((column) => column);
    const named = columns.filter((column) => column.names), numbers = columns.filter((column) => !column.names);
    const names = union(named.map((column) => column.names)), limits = range(numbers);
    for (const column of named) {
      const place = new Map(names.map((text, k) => [text, k])), moved = column.names.map((text) => place.get(text));
      if (moved.some((k, old) => k !== old)) column.values = Int32Array.from(column.values, (v) => (v < 0 ? v : moved[v]));
      column.names = names;
    }
    for (const column of numbers) column.range = limits;
  }
  const names = union(scenes.map((scene) => scene.classes)), colours = namedColours(page, { names });
  for (const scene of scenes) scene.colours = scene.classes.map((text) => colours[names.indexOf(text)]);
}

function range(columns) {
  let low = Infinity, high = -Infinity;
  for (const { values } of columns)
    for (const v of values) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
  return low <= high ? [low, high] : [0, 1];
}
