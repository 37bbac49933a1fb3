// Isometries of the disk, in float64.
//
// A point at distance r is kept as (a, b) = (cosh(r/2), sinh(r/2) e^(i angle)), half-angle coordinates of the
// hyperboloid; the disk shows b / a. An isometry is [Re A, Im A, Re B, Im B] with |A|^2 - |B|^2 = 1 and takes
// (a, b) to (conj(B) b + conj(A) a, A b + B a). A 3 x 3 Lorentz matrix does the same and loses e^(2r) units in
// the last place at distance r, where this loses e^r: points near the rim stay where they belong.

const HOME = [1, 0, 0, 0];

function normalised(g) {
  const n = Math.sqrt(g[0] * g[0] + g[1] * g[1] - g[2] * g[2] - g[3] * g[3]);
  return g.map((x) => x / n);
}

// The isometry "first h, then g", scaled back to |A|^2 - |B|^2 = 1.
function compose(g, h) {
  const [a, b, c, d] = g, [e, f, p, q] = h;
  return normalised([
    a * e - b * f + c * p + d * q,
    a * f + b * e + d * p - c * q,
    a * p - b * q + c * e + d * f,
    a * q + b * p + d * e - c * f,
  ]);
}

// The isometry that brings the point (a, b) a part of the way to the origin, straight.
function towardsOrigin(bx, by, part = 1) {
  const sinh = Math.hypot(bx, by);
  if (sinh === 0) return HOME;
  const half = part * Math.asinh(sinh);
  const k = -Math.sinh(half) / sinh;
  return [Math.cosh(half), 0, k * bx, k * by];
}

// The isometry along the geodesic from the disk's point p to q: reflections in p, then in their midpoint.
function transvection(px, py, qx, qy) {
  const gp = 1 - px * px - py * py, gq = 1 - qx * qx - qy * qy;
  const p = [2 / gp - 1, 2 * px / gp, 2 * py / gp];
  let m = [p[0] + 2 / gq - 1, p[1] + 2 * qx / gq, p[2] + 2 * qy / gq];
  const n = Math.sqrt(m[0] * m[0] - m[1] * m[1] - m[2] * m[2]);
  m = m.map((x) => x / n);
  return normalised([
    m[0] * p[0] - m[1] * p[1] - m[2] * p[2],
    m[1] * p[2] - m[2] * p[1],
    m[1] * p[0] - m[0] * p[1],
    m[2] * p[0] - m[0] * p[2],
  ]);
}

// A point (a, b) with a > 0 real, after an isometry: again with a > 0 real; returns b.
function moved(g, bx, by) {
  const a = Math.sqrt(1 + bx * bx + by * by);
  const nx = g[0] * bx - g[1] * by + g[2] * a, ny = g[0] * by + g[1] * bx + g[3] * a;
  const dx = g[2] * bx + g[3] * by + g[0] * a, dy = g[2] * by - g[3] * bx - g[1] * a;
  const d = Math.hypot(dx, dy);
  return [(nx * dx + ny * dy) / d, (ny * dx - nx * dy) / d];
}

// A point of the closed disk after an isometry.
function mobius(g, x, y) {
  const nx = g[0] * x - g[1] * y + g[2], ny = g[0] * y + g[1] * x + g[3];
  const dx = g[2] * x + g[3] * y + g[0], dy = g[2] * y - g[3] * x - g[1];
  const d = dx * dx + dy * dy;
  return [(nx * dx + ny * dy) / d, (ny * dx - nx * dy) / d];
}

// The distance of two points at curvature -1, each given by b: sinh(d/2) = |b a' - b' a|.
function distance(p, q) {
  const a = Math.sqrt(1 + p[0] * p[0] + p[1] * p[1]), c = Math.sqrt(1 + q[0] * q[0] + q[1] * q[1]);
  return 2 * Math.asinh(Math.hypot(p[0] * c - q[0] * a, p[1] * c - q[1] * a));
}

// The circle of {x, y, level}, the points with y_t - <y_s, v> = exp(level), after an isometry. Of a horosphere |v|
// is 1; of its section with the plane of the picture less. The vector (1, v) moves to (t, z), whose square stays.
function horocircle(g, ball) {
  const gap = Math.max(0, 1 - ball.x * ball.x - ball.y * ball.y), e = Math.exp(ball.level);
  const nx = g[0] * ball.x - g[1] * ball.y + g[2], ny = g[0] * ball.y + g[1] * ball.x + g[3];
  const dx = g[2] * ball.x + g[3] * ball.y + g[0], dy = g[2] * ball.y - g[3] * ball.x - g[1];
  const t = dx * dx + dy * dy + (g[2] * g[2] + g[3] * g[3]) * gap;
  const zx = nx * dx + ny * dy + (g[0] * g[2] - g[1] * g[3]) * gap, zy = ny * dx - nx * dy + (g[0] * g[3] + g[1] * g[2]) * gap;
  return { x: zx / (t + e), y: zy / (t + e), r: Math.sqrt(Math.max(0, e * e - gap)) / (t + e) };
}

// The circle at right angles to the rim through two points of the disk; null where it is nearly straight, or they
// are one point.
function geodesicCircle(px, py, qx, qy) {
  const det = px * qy - py * qx;
  if (Math.abs(det) <= 1e-4 * Math.hypot(px - qx, py - qy)) return null;
  const u = (1 + px * px + py * py) / 2, w = (1 + qx * qx + qy * qy) / 2;
  const x = (u * qy - w * py) / det, y = (w * px - u * qx) / det;
  return { x, y, r: Math.hypot(px - x, py - y) };
}
