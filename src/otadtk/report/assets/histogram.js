// Histogram of costs on a log scale: hovering lists clips, dragging filters the table.

const histogram = { width: 1000, height: 190, bottom: 34, top: 20, bins: [], low: 0, high: 1 };

function binCosts() {
  const positive = evaluated.relative.filter((value) => value > 0);
  const low = Math.log10(positive.length ? positive.reduce((a, b) => Math.min(a, b)) : 0.1);
  const high = Math.log10(positive.length ? positive.reduce((a, b) => Math.max(a, b)) : 10);
  const room = Math.max((high - low) * 0.02, 0.02);
  Object.assign(histogram, { low: low - room, high: high + room });
  const count = Math.max(12, Math.min(64, Math.round(Math.sqrt(total) * 2)));
  histogram.bins = Array.from({ length: count }, () => []);
  for (const j of order) {
    const value = evaluated.relative[j];
    if (value === null) continue;
    const position = value > 0 ? (Math.log10(value) - histogram.low) / (histogram.high - histogram.low) : 0;
    histogram.bins[Math.min(Math.floor(position * count), count - 1)].push(j);
  }
}

const toX = (value) => (histogram.width * (Math.log10(value) - histogram.low)) / (histogram.high - histogram.low);
const toValue = (x) => 10 ** (histogram.low + (x / histogram.width) * (histogram.high - histogram.low));

function drawHistogram() {
  const { width, height, bottom, top, bins } = histogram;
  const tallest = Math.max(...bins.map((bin) => bin.length), 1), step = width / bins.length;
  const base = height - bottom, tall = (count) => ((base - top) * count) / tallest;
  const known = data.labels.length > 0;
  const svg = make("svg", {
    viewBox: `0 0 ${width} ${height}`, role: "img", preserveAspectRatio: "none",
    "aria-label": `Histogram of ${plural(total, "cost")}, from ${relativeText(toValue(0))} to ${relativeText(toValue(width))} the ${data.typical}; the fields above the table choose a range`,
  }, hatch());
  const round = 10 ** Math.floor(Math.log10(tallest)), level = round * (tallest >= 5 * round ? 5 : tallest >= 2 * round ? 2 : 1);
  svg.append(make("line", { class: "axis", x1: 0, x2: width, y1: base - tall(level), y2: base - tall(level) }));
  bins.forEach((bin, k) => {
    const bad = known ? bin.filter(faultOf).length : 0, clean = bin.length - bad;
    const x = k * step + 1, wide = Math.max(step - 2, 1);
    if (clean) svg.append(make("rect", { class: "bar", "data-bin": k, x, width: wide, y: base - tall(clean), height: tall(clean) }));
    if (bad) svg.append(make("rect", { class: "bad", "data-bin": k, x, width: wide, y: base - tall(bin.length), height: tall(bad) }));
  });
  const clean = known ? Array.from(order).filter((j) => !faultOf(j)) : Array.from(order);
  const typical = evaluated.relative[clean[Math.floor(clean.length / 2)]];
  if (typical > 0) svg.append(make("line", { class: "median", x1: toX(typical), x2: toX(typical), y1: top - 8, y2: base }));
  svg.append(make("rect", { class: "hover", y: top - 8, height: base - top + 8, width: step, visibility: "hidden" }));
  svg.append(make("rect", { class: "brush", y: top - 8, height: base - top + 8, visibility: "hidden" }));
  svg.append(make("line", { class: "axis", x1: 0, x2: width, y1: base, y2: base }));
  const count = make("span", { class: "count", "aria-hidden": "true" }, plural(level, "clip"));
  count.style.top = `calc(14px + ${base - tall(level)}px)`;
  const ticks = make("div", { class: "ticks", "aria-hidden": "true" });
  for (const value of [0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000]) {
    const x = toX(value);
    if (x < 8 || x > width - 8) continue;
    svg.append(make("line", { class: "axis", x1: x, x2: x, y1: base, y2: base + 5 }));
    const label = make("span", {}, `${value}×`);
    label.style.left = `${(100 * x) / width}%`;
    ticks.append(label);
  }
  const kinds = [legendItem("bar", known ? "clean" : "evaluated clips")];
  if (known) kinds.push(legendItem("bad", "known bad"));
  kinds.push(legendItem("median", `${known ? "clean " : ""}median`));
  kinds.push(make("span", { class: "last" }, `cost over the ${data.typical}, log scale`));
  $("histogram").replaceChildren(make("div", { class: "plot" }, svg, count, ticks), make("figcaption", { class: "legend" }, ...kinds));
  listenToBrush(svg);
  showBrush();
}

function hatch() {
  return make("defs", {}, make("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    make("rect", { class: "hatch-ground", width: 7, height: 7 }), make("line", { class: "hatch-line", x1: 0, x2: 0, y1: 0, y2: 7 })));
}

function legendItem(kind, words) {
  const sample = kind === "median"
    ? make("line", { class: kind, x1: 8, x2: 8, y1: 0, y2: 12 }) : make("rect", { class: kind, width: 16, height: 12 });
  return make("span", {}, make("svg", { viewBox: "0 0 16 12", "aria-hidden": "true" }, sample), words);
}

function listenToBrush(svg) {
  const hover = svg.querySelector(".hover");
  const xOf = (event) => {
    const box = svg.getBoundingClientRect();
    return Math.min(Math.max((histogram.width * (event.clientX - box.left)) / box.width, 0), histogram.width);
  };
  let start = null;
  svg.addEventListener("pointerdown", (event) => { start = xOf(event); svg.setPointerCapture(event.pointerId); });
  svg.addEventListener("pointermove", (event) => {
    const x = xOf(event), step = histogram.width / histogram.bins.length;
    const k = Math.min(Math.floor(x / step), histogram.bins.length - 1), bin = histogram.bins[k];
    hover.setAttribute("visibility", "visible");
    hover.setAttribute("x", k * step);
    if (start !== null && Math.abs(x - start) > 4) chooseRange(Math.min(start, x), Math.max(start, x));
    const names = bin.slice(0, 8).map((j) => `${relativeText(evaluated.relative[j])}  ${evaluated.names[j]}`);
    if (bin.length > 8) names.push(`and ${bin.length - 8} more: click to list all below`);
    tip.show([plural(bin.length, "clip"), ...names].join("\n"), event);
  });
  svg.addEventListener("pointerup", (event) => {
    const x = xOf(event), step = histogram.width / histogram.bins.length;
    if (start !== null && Math.abs(x - start) <= 4) {
      const k = Math.min(Math.floor(x / step), histogram.bins.length - 1);
      if (filters.from !== null || filters.to !== null || !histogram.bins[k].length) setFilters({ from: null, to: null });
      else chooseRange(k * step, (k + 1) * step);
    }
    start = null;
  });
  svg.addEventListener("pointercancel", () => { start = null; });
  svg.addEventListener("pointerleave", () => { tip.hide(); hover.setAttribute("visibility", "hidden"); });
}

function chooseRange(left, right) {
  const rounded = (value) => Number(value.toPrecision(3));
  setFilters({ from: left <= 0 ? null : rounded(toValue(left)), to: right >= histogram.width ? null : rounded(toValue(right)) });
}

function showBrush() {
  const brush = document.querySelector("#histogram .brush");
  const chosen = filters.from !== null || filters.to !== null;
  brush.setAttribute("visibility", chosen ? "visible" : "hidden");
  const left = filters.from > 0 ? Math.max(toX(filters.from), 0) : 0;
  const right = filters.to > 0 ? Math.min(toX(filters.to), histogram.width) : histogram.width;
  brush.setAttribute("x", Math.min(left, histogram.width));
  brush.setAttribute("width", Math.max(right - left, 0));
}
signals.on("filter", showBrush);
