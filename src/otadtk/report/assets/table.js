// The table of evaluated clips: one page of rows at a time, so that large sets stay fast.

const PAGE = 20;
const body = $("table").tBodies[0];
const table = { sort: "rank", descending: false, page: 0, rows: [], selected: null };

const sorters = {
  rank: (a, b) => rankOf[a] - rankOf[b],
  cost: (a, b) => rankOf[b] - rankOf[a],
  name: (() => {
    const collator = new Intl.Collator("en", { numeric: true });
    let position = null;
    return (a, b) => {
      if (!position) { // comparing names is slow, so they are sorted once
        position = new Uint32Array(total);
        Array.from(order).sort((p, q) => collator.compare(evaluated.names[p], evaluated.names[q]))
          .forEach((j, k) => { position[j] = k; });
      }
      return position[a] - position[b];
    };
  })(),
};

const pages = () => Math.max(1, Math.ceil(table.rows.length / PAGE));

function refresh() {
  const rows = Array.from(order).filter(passes);
  if (table.sort !== "rank" || table.descending) rows.sort(sorters[table.sort]);
  if (table.descending) rows.reverse();
  table.rows = rows;
  table.page = 0;
  render();
}

function render() {
  const shown = table.rows.slice(table.page * PAGE, (table.page + 1) * PAGE);
  const inspector = $("inspector");
  if (body.contains(inspector)) inspector.remove(); // it is put back under its row
  body.replaceChildren(...shown.map(rowOf));
  $("empty").hidden = shown.length > 0;
  const count = table.rows.length;
  $("count").textContent = filtered() ? `${count.toLocaleString("en")} of ${plural(total, "clip")}` : plural(total, "clip");
  $("clear").hidden = !filtered();
  $("page").textContent = `Page ${table.page + 1} of ${pages()}`;
  for (const id of ["first", "previous"]) $(id).disabled = table.page === 0;
  for (const id of ["next", "last"]) $(id).disabled = table.page >= pages() - 1;
  for (const head of $("table").querySelectorAll("th button")) {
    const mine = head.dataset.sort === table.sort;
    head.parentElement.setAttribute("aria-sort", !mine ? "none" : table.descending ? "descending" : "ascending");
  }
  markSelected();
}

const mostCost = Math.log1p(evaluated.relative.reduce((most, value) => Math.max(most, value ?? 0), 1));
$("table").classList.toggle("bare", Object.keys(details).length === 0);
$("table").classList.toggle("mute", !hasSound("e0"));

function costMeter(value) {
  const bar = make("i");
  bar.style.width = `${(100 * Math.log1p(value ?? 0)) / mostCost}%`;
  return make("span", { class: "cost" }, make("b", {}, relativeText(value)), make("span", { class: "meter" }, bar));
}

function badges(j) {
  const names = [...evaluated.flags[j], ...(faultOf(j) ? [`known: ${faultOf(j)}`] : [])];
  return names.map((name) => make("span", { class: name === "silent" || name === "bad" ? "badge verdict" : name.startsWith("known: ") ? "badge known" : "badge" }, name));
}

function rowOf(j) {
  const key = `e${j}`;
  const near = partnersOf(j).map(({ key: partner, share }) =>
    make("li", {}, playButton(partner, { small: true }), make("span", { class: "clip-name", title: nameOf(partner) }, nameOf(partner)),
      make("span", { class: "amount" }, percent(share))));
  return make("tr", { "data-clip": j, onclick: () => select(j) },
    make("td", { class: "c-play" }, playButton(key)),
    make("td", { class: "c-rank" }, String(rankOf[j])),
    make("td", { class: "c-picture" }, thumbnail(key)),
    make("th", { scope: "row", class: "c-name" },
      make("span", { class: "clip-name", title: nameOf(key) }, nameOf(key)),
      make("span", { class: "clip-about" }, ...badges(j), aboutClip(key))),
    make("td", { class: "c-cost", title: `cost ${(evaluated.cj[j] * total).toPrecision(4)}, c_j ${evaluated.cj[j].toPrecision(4)}` }, costMeter(evaluated.relative[j])),
    make("td", { class: "c-near" }, near.length ? make("ul", { class: "near" }, ...near) : "–"));
}

function markSelected() {
  for (const row of body.querySelectorAll("tr[data-clip]")) {
    if (Number(row.dataset.clip) === table.selected) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  placeInspector();
}

const narrow = matchMedia("screen and (max-width: 1080px)");

/** Puts the inspector beside the table, or on narrow screens under the selected row. */
function placeInspector() {
  const inspector = $("inspector");
  body.querySelector("tr.open")?.remove();
  const row = narrow.matches ? body.querySelector("tr[aria-current]") : null;
  // only the visible columns: hidden ones would take their width from the names
  const columns = row ? [...row.cells].filter((cell) => cell.offsetWidth > 0).length : 0;
  if (row) row.after(make("tr", { class: "open" }, make("td", { colspan: columns }, inspector)));
  else document.querySelector(".bench").append(inspector);
  inspector.hidden = table.selected === null || (narrow.matches && !row);
}
narrow.addEventListener("change", placeInspector);

/** Select a clip; with `reveal`, show its page, and clear filters that hide it. */
function select(j, { reveal = false } = {}) {
  table.selected = j;
  if (reveal) {
    if (!table.rows.includes(j)) clearFilters();
    const page = Math.floor(table.rows.indexOf(j) / PAGE);
    if (page !== table.page) { table.page = page; render(); }
  }
  markSelected();
  signals.send("select", j);
}

function move(step) {
  if (!table.rows.length) return;
  const here = table.rows.indexOf(table.selected);
  const there = here < 0 ? table.page * PAGE : Math.min(Math.max(here + step, 0), table.rows.length - 1);
  select(table.rows[there], { reveal: true });
  body.querySelector("tr[aria-current]")?.scrollIntoView({ block: "nearest", behavior: "instant" });
}

function turn(page) {
  table.page = Math.min(Math.max(page, 0), pages() - 1);
  render();
}

function sortBy(name) {
  table.descending = table.sort === name ? !table.descending : false;
  table.sort = name;
  refresh();
}

function clearFilters() {
  $("find").value = "";
  setFilters({ words: [], group: null, from: null, to: null });
}
