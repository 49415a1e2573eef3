// The clips on which the systems differ most: one row per clip, one cell per system.

const mostCost = Math.max(...data.clips.flatMap((clip) => clip.costs.map((cost) => cost ?? 0)), 1);

function cell(clip, k) {
  const key = keyOf(clip, k), bar = make("i");
  bar.style.width = `${(100 * Math.log1p(clip.costs[k] ?? 0)) / Math.log1p(mostCost)}%`;
  const labels = labelsOf(key).map(([name]) => name).join(" · ");
  return make("td", {}, make("div", { class: "take" }, playButton(key) ?? make("span"), thumbnail(key) ?? make("span"),
    make("span", { class: "cost" }, make("b", {}, relativeText(clip.costs[k])), make("span", { class: "meter" }, bar),
      make("span", { class: "clip-about", title: labels }, labels))));
}

function drawClips() {
  $("different").tBodies[0].replaceChildren(...data.clips.map((clip) =>
    make("tr", {}, make("th", { scope: "row" }, make("span", { class: "clip-name", title: clip.name }, clip.name)),
      ...systems.map((_, k) => cell(clip, k)))));
}

signals.on("play", () => { $("player-error").textContent = player.error; });
if (data.clips.length) {
  drawClips();
  signals.on("theme", drawClips);
}
document.documentElement.dataset.ready = Math.round(performance.now());
