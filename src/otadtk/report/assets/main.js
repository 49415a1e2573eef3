// Start of the page: controls, keyboard, cards, download.

$("find").addEventListener("input", debounce(() =>
  setFilters({ words: $("find").value.toLowerCase().split(/\s+/).filter(Boolean) })));
for (const id of ["from", "to"]) {
  $(id).addEventListener("input", debounce(() =>
    setFilters({ [id]: $(id).value === "" || !(Number($(id).value) >= 0) ? null : Number($(id).value) })));
}
signals.on("filter", () => {
  for (const id of ["from", "to"]) {
    if (document.activeElement !== $(id)) $(id).value = filters[id] ?? "";
  }
  drawFlags();
  $("clear").textContent = filters.group === null ? "Show all" : `${filters.group}: show all`;
  refresh();
});
$("clear").addEventListener("click", clearFilters);
$("first").addEventListener("click", () => turn(0));
$("previous").addEventListener("click", () => turn(table.page - 1));
$("next").addEventListener("click", () => turn(table.page + 1));
$("last").addEventListener("click", () => turn(pages() - 1));
for (const head of $("table").querySelectorAll("th button")) head.addEventListener("click", () => sortBy(head.dataset.sort));
for (const button of document.querySelectorAll("[data-group]")) {
  button.addEventListener("click", () => {
    setFilters({ group: button.dataset.group });
    $("clips").scrollIntoView();
  });
}

/** Buttons that list only the clips with a flag of the audit. */
function drawFlags() {
  const counts = new Map();
  for (const flag of evaluated.flags.flat()) counts.set(flag, (counts.get(flag) ?? 0) + 1);
  $("flags").replaceChildren(...[...counts].sort((a, b) => a[1] - b[1]).map(([flag, count]) => make("button", {
    type: "button", class: "quiet", "aria-pressed": String(filters.group === flag),
    onclick: () => setFilters({ group: filters.group === flag ? null : flag }),
  }, `${flag} ${count.toLocaleString("en")}`)));
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.target.closest("input, select, textarea, summary, pre, .wide")) return;
  const key = table.selected === null ? null : `e${table.selected}`;
  const nearest = key && partnersOf(table.selected)[0]?.key;
  const letter = event.key.toLowerCase();
  if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === " " && key && !event.target.closest("button, a")) player.toggle(key);
  else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && player.key !== null) {
    audio.currentTime = Math.max(0, audio.currentTime + (event.key === "ArrowRight" ? 0.5 : -0.5));
  } else if (letter === "a" && nearest) alternate(key, nearest);
  else if (letter === "b" && nearest) alternate(nearest, key);
  else return;
  event.preventDefault();
});

/** The nearest reference of an evaluated clip, with a play button. */
function nearestOf(key) {
  const nearest = key[0] === "e" ? partnersOf(indexOf(key))[0] : null;
  return nearest && make("span", { class: "beside" }, playButton(nearest.key, { small: true }),
    make("span", { class: "clip-name", title: nameOf(nearest.key) }, nameOf(nearest.key)), make("span", { class: "amount" }, percent(nearest.share)));
}

/** A clip as an item of the lists of best matches, of unmatched references and of silent clips. */
function card(key, amount = relativeText(costOf(key))) {
  const name = make("span", { class: "clip-name", title: nameOf(key) }, nameOf(key));
  return make("li", {}, playButton(key) ?? make("span"), thumbnail(key) ?? make("span"),
    make("span", {}, name, make("span", { class: "clip-about" }, aboutClip(key)), nearestOf(key)),
    make("span", { class: "amount" }, amount));
}

function drawCards() {
  $("silent")?.replaceChildren(...data.silent.map((j) => card(`e${j}`, `rank ${rankOf[j].toLocaleString("en")}`)));
  $("best").replaceChildren(...data.best.map((j) => card(`e${j}`)));
  $("unreached").replaceChildren(...data.unreached.map((i) => card(`r${i}`)));
}

signals.on("theme", () => { render(); drawCards(); });

$("download").addEventListener("click", () => {
  const withoutPictures = (name, value) => (name === "wave" || name === "mel" ? undefined : value);
  const text = JSON.stringify(data, withoutPictures, 1);
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "otadtk-report.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

let drawnWidth = innerWidth;
addEventListener("resize", debounce(() => {
  if (innerWidth === drawnWidth) return; // a phone shows or hides its address bar
  drawnWidth = innerWidth;
  layoutMap();
  if (table.selected !== null) inspect(table.selected);
}, 150));

binCosts();
drawHistogram();
drawFlags();
refresh();
if (total && !narrow.matches) select(table.rows[0]);
else placeInspector();
drawCards();
layoutMap();
document.documentElement.dataset.ready = Math.round(performance.now()); // milliseconds after opening
