// Clips by key (e12 evaluated, r7 reference): their facts, and which of them pass the filters.

const { evaluated, reference, details } = data;
const total = evaluated.names.length;

/** Evaluated clips by rank: order[0] costs most. */
const order = Uint32Array.from({ length: total }, (_, k) => k).sort((a, b) => evaluated.cj[b] - evaluated.cj[a] || a - b);
const rankOf = new Uint32Array(total);
order.forEach((j, rank) => { rankOf[j] = rank + 1; });

const sideOf = (key) => (key[0] === "e" ? evaluated : reference);
const indexOf = (key) => Number(key.slice(1));
/** The path of a clip below its folder, as part of a URL. */
const pathOf = (key) =>
  sideOf(key).links[indexOf(key)] ?? nameOf(key).split("/").map(encodeURIComponent).join("/");
const folderOf = (key) => (key[0] === "e" ? data.audio.evaluated : data.audio.reference);
const nameOf = (key) => sideOf(key).names[indexOf(key)];
const costOf = (key) => sideOf(key).relative[indexOf(key)];
const labelsOf = (key) => details[key]?.labels ?? [];
const partnersOf = (j) => evaluated.partners[j].map(([i, share]) => ({ key: `r${i}`, share }));
const groupsOf = (j) => data.groupings.map((grouping) => grouping.groups[j]);
const faultOf = (j) => data.labels[j] || "";

/** The line under the name of a clip: groups and labels. */
function aboutClip(key) {
  const own = key[0] === "e" ? [...qualityOf(indexOf(key)).map(([name, score]) => `${name} ${score.toFixed(1)}`), ...groupsOf(indexOf(key))] : [];
  return [...new Set([...own, ...labelsOf(key).map(([name]) => name)])].join(" · ");
}

const QUALITIES = { dnsmos_ovrl: "DNSMOS", distillmos: "DistillMOS", dnsmos_sig: "DNSMOS speech", dnsmos_bak: "DNSMOS background" };

/** The predicted speech quality of an evaluated clip, [name, score]; overall scores only, unless all are asked for. */
function qualityOf(j, all = false) {
  const shown = Object.keys(QUALITIES).slice(0, all ? 4 : 2).filter((name) => name in evaluated.quality);
  return shown.map((name) => [QUALITIES[name], evaluated.quality[name][j]]);
}

const haystack = Array.from({ length: total }, (_, j) =>
  [evaluated.names[j], ...evaluated.flags[j], ...groupsOf(j), faultOf(j), ...labelsOf(`e${j}`).map(([name]) => name)]
    .join("\n").toLowerCase());

const filters = { words: [], group: null, from: null, to: null };
const passes = (j) =>
  filters.words.every((word) => haystack[j].includes(word)) &&
  (filters.group === null || groupsOf(j).includes(filters.group) || faultOf(j) === filters.group || evaluated.flags[j].includes(filters.group)) &&
  (filters.from === null || evaluated.relative[j] >= filters.from) &&
  (filters.to === null || evaluated.relative[j] <= filters.to);
const filtered = () => filters.words.length > 0 || filters.group !== null || filters.from !== null || filters.to !== null;

function setFilters(changes) {
  Object.assign(filters, changes);
  signals.send("filter");
}
