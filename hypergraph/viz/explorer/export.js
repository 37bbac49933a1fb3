// The picture as PNG or SVG, as it stands on the screen.

function pngOf(plot) {
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
  canvas.width = plot.under.width;
  canvas.height = plot.under.height;
  context.fillStyle = plot.app.ground().back;
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (const layer of [plot.under, plot.middle, plot.over]) context.drawImage(layer, 0, 0);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// Without the control characters that XML does not allow.
function plain(text) {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

function svgOf(plot) {
  const { scene, app, width, height, places } = plot, ground = app.ground(), r = plot.diameter() / 2;
  const svg = vector("svg", { xmlns: "http://www.w3.org/2000/svg", width: Math.round(width), height: Math.round(height), viewBox: `0 0 ${width} ${height}` });
  svg.append(vector("title", {}, plain(scene.title)), vector("rect", { width, height, fill: ground.back }));
  const shape = (s) => {
    const path = new SvgPath();
    s.trace(path);
    const paint = s.fill
      ? { fill: s.fill, "fill-opacity": s.alpha, "fill-rule": "evenodd" }
      : { fill: "none", stroke: s.stroke, "stroke-opacity": s.alpha, "stroke-width": s.width };
    svg.append(vector("path", { d: path.d.join(""), ...paint }));
  };
  plot.shapes().forEach(shape);
  const groups = new Map();
  for (let i = 0; i < scene.n; i++) {
    const alpha = plot.rgba[4 * i + 3], x = places[2 * i], y = places[2 * i + 1];
    if (!alpha || x < -r || y < -r || x > width + r || y > height + r) continue;
    const key = plot.rgba.subarray(4 * i, 4 * i + 4).join();
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(`M${(x - r).toFixed(2)} ${y.toFixed(2)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`);
  }
  for (const [key, parts] of groups) {
    const [red, green, blue, alpha] = key.split(",");
    svg.append(vector("path", { d: parts.join(""), fill: `rgb(${red},${green},${blue})`, "fill-opacity": (alpha / 255).toFixed(2) }));
  }
  plot.marks().forEach(shape);
  const context = flatContext(plot.over);
  for (const { text, x, y } of plot.labels(context))
    svg.append(vector("text", { x: x.toFixed(1), y: y.toFixed(1), "dominant-baseline": "middle", "font-family": "system-ui, sans-serif", "font-size": 12, fill: ground.text, stroke: ground.back, "stroke-width": 3, "paint-order": "stroke" }, plain(text)));
  return new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
}
