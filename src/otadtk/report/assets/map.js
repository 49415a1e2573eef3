// Both sets on two axes: rings are reference clips, discs evaluated ones, lines nearest references.

const map = { canvas: null, still: null, width: 0, height: 0, density: 1, points: [], cells: new Map(), over: null };
const CELL = 14;

function layoutMap() {
  const frame = $("scatter");
  if (!map.canvas) {
    map.canvas = make("canvas", { role: "img", "aria-label": mapWords() });
    frame.append(map.canvas, make("figcaption", { class: "legend" }));
    listenToMap();
  }
  map.width = map.canvas.clientWidth;
  map.height = Math.round(Math.min(Math.max(map.width * 0.52, 300), 600));
  map.grain = map.width < 600 ? 0.6 : 1;
  map.canvas.style.height = `${map.height}px`;
  const xs = [...reference.x, ...evaluated.x], ys = [...reference.y, ...evaluated.y];
  const range = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  const [x0, x1] = range(xs), [y0, y1] = range(ys), edge = 16;
  const scale = Math.min((map.width - 2 * edge) / (x1 - x0 || 1), (map.height - 2 * edge) / (y1 - y0 || 1));
  const positionOf = (x, y) => [
    map.width / 2 + (x - (x0 + x1) / 2) * scale, map.height / 2 - (y - (y0 + y1) / 2) * scale];
  map.points = [
    ...reference.names.map((_, i) => ({ key: `r${i}`, at: positionOf(reference.x[i], reference.y[i]), radius: 2.6 * map.grain })),
    ...Array.from(order).reverse().map((j) => ({ key: `e${j}`, at: positionOf(evaluated.x[j], evaluated.y[j]), radius: discRadius(warmth(evaluated.relative[j])) })),
  ];
  map.byKey = new Map(map.points.map((point) => [point.key, point]));
  map.cells = new Map();
  for (const point of map.points) {
    const cell = `${Math.floor(point.at[0] / CELL)},${Math.floor(point.at[1] / CELL)}`;
    if (!map.cells.has(cell)) map.cells.set(cell, []);
    map.cells.get(cell).push(point);
  }
  drawStill();
  drawMap();
  drawMapLegend();
}

const varianceShown = `the axes show ${data.explained.map((part) => percent(part ?? 0)).join(" and ")} of the variance`;
const mapWords = () => `${plural(reference.names.length, "reference clip")} as rings, ${plural(total, "evaluated clip")} as discs; ` +
  varianceShown;

const mostRelative = evaluated.relative.reduce((most, value) => Math.max(most, value ?? 0), 1);
/** 0 up to the typical cost, 1 for the largest cost, logarithmic in between. */
const warmth = (relative) => (relative > 1 ? Math.log(relative) / Math.log(mostRelative) : 0);
const discRadius = (heat) => (2 + 5 * heat) * map.grain;
const discColour = (heat) => mix(mix(colours.channels("accent"), colours.channels("paper"), 0.35), colours.channels("cost"), Math.sqrt(heat));

/** The legend: rings, and discs at a few costs. */
function drawMapLegend() {
  const sign = (attributes, words) => make("span", {}, make("svg", { viewBox: "0 0 16 12", "aria-hidden": "true" },
    make("circle", { cx: 8, cy: 6, ...attributes })), words);
  const costs = [1, 2, 5, 10, 100].filter((cost) => cost < 0.8 * mostRelative).concat(mostRelative > 1 ? mostRelative : []);
  const discs = costs.map((cost, k) => sign({ r: discRadius(warmth(cost)), fill: rgb(discColour(warmth(cost))) },
    k ? `${Number(cost.toPrecision(2))}×` : `evaluated, the ${data.typical} cost or less`));
  $("scatter").querySelector("figcaption").replaceChildren(sign({ class: "ring", r: 3 }, "reference"), ...discs,
    make("span", { class: "last" }, varianceShown));
}

function drawStill() {
  map.density = Math.min(devicePixelRatio || 1, 2);
  map.still = new OffscreenCanvas(map.width * map.density, map.height * map.density);
  const context = map.still.getContext("2d");
  context.scale(map.density, map.density);
  context.strokeStyle = rgb(colours.channels("reference"), 0.75);
  context.lineWidth = map.grain;
  const tints = Array.from({ length: 101 }, (_, k) => discColour(k / 100));
  for (const { key, at: [x, y], radius } of map.points) {
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    if (key[0] === "r") { context.stroke(); continue; }
    const visible = passes(indexOf(key));
    context.fillStyle = rgb(tints[Math.round(100 * warmth(costOf(key)))], visible ? 0.8 : 0.12);
    context.fill();
  }
}

function drawMap() {
  const context = prepare(map.canvas, map.width, map.height);
  context.drawImage(map.still, 0, 0, map.width, map.height);
  const keys = new Set([map.over, table.selected === null ? null : `e${table.selected}`].filter(Boolean));
  for (const key of keys) {
    const { at: [x, y], radius } = map.byKey.get(key);
    context.strokeStyle = colours.get("ink");
    for (const { key: partner, share } of key[0] === "e" ? partnersOf(indexOf(key)) : []) {
      const [px, py] = map.byKey.get(partner).at;
      context.lineWidth = 0.8 + 3 * share;
      context.beginPath(); context.moveTo(x, y); context.lineTo(px, py); context.stroke();
      context.beginPath(); context.arc(px, py, 4.5, 0, 7); context.stroke();
    }
    context.lineWidth = 2;
    context.beginPath(); context.arc(x, y, radius + 3, 0, 7); context.stroke();
  }
}

function pointNear(event) {
  const box = map.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let best = null, closest = CELL * CELL;
  for (let column = -1; column <= 1; column++) {
    for (let row = -1; row <= 1; row++) {
      for (const point of map.cells.get(`${Math.floor(x / CELL) + column},${Math.floor(y / CELL) + row}`) ?? []) {
        const distance = (point.at[0] - x) ** 2 + (point.at[1] - y) ** 2;
        if (distance < closest) { closest = distance; best = point.key; }
      }
    }
  }
  return best;
}

function listenToMap() {
  map.canvas.addEventListener("pointermove", (event) => {
    const over = pointNear(event);
    if (over !== map.over) { map.over = over; drawMap(); }
    map.canvas.style.cursor = over ? "pointer" : "default";
    if (!over) { tip.hide(); return; }
    const side = over[0] === "e" ? "evaluated" : "reference";
    tip.show([nameOf(over), `${side}, ${relativeText(costOf(over))} the ${data.typical}`, aboutClip(over)].filter(Boolean).join("\n"), event);
  });
  map.canvas.addEventListener("pointerleave", () => { map.over = null; tip.hide(); drawMap(); });
  map.canvas.addEventListener("click", (event) => {
    const key = pointNear(event);
    if (!key) return;
    if (key[0] === "e") select(indexOf(key), { reveal: true });
    player.play(key);
  });
}

signals.on("select", () => { if (map.canvas) drawMap(); });
const redrawMap = debounce(() => { drawStill(); drawMap(); }, 120); // not at every step of a drag
signals.on("filter", () => { if (map.canvas) redrawMap(); });
signals.on("theme", () => { if (map.canvas) { drawStill(); drawMap(); drawMapLegend(); } });
