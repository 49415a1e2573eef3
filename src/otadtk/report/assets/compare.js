// The clips on which systems differ most: one item per clip, one side per system.

const mostCost = Math.max(...data.clips.flatMap((clip) => clip.costs.map((cost) => cost ?? 0)), 1);

function side(clip, k) {
  const key = keyOf(clip, k), bar = make("i");
  bar.style.width = `${(100 * Math.log1p(clip.costs[k] ?? 0)) / Math.log1p(mostCost)}%`;
  const labels = labelsOf(key).map(([name]) => name).join(" · ");
  return make("div", { class: "side" }, make("p", { class: "of", title: systems[k].name }, systems[k].name),
    make("div", { class: "take" }, playButton(key) ?? make("span"), thumbnail(key) ?? make("span"),
      make("span", { class: "cost" },
        make("span", {}, make("b", {}, relativeText(clip.costs[k])), clip.bad?.[k] ? make("span", { class: "badge verdict" }, "bad") : null),
        make("span", { class: "meter" }, bar), make("span", { class: "clip-about", title: labels }, labels))));
}

function drawClips() {
  $("different").replaceChildren(...data.clips.map((clip) =>
    make("li", {}, make("p", { class: "which" }, make("span", { class: "clip-name", title: clip.name }, clip.name),
      make("span", { class: "amount" }, `difference ${relativeText(clip.difference)}`)),
      make("div", { class: "sides" }, ...systems.map((_, k) => side(clip, k))))));
}

signals.on("play", () => { $("player-error").textContent = player.error; });
if (data.clips.length) {
  drawClips();
  signals.on("theme", drawClips);
}
document.documentElement.dataset.ready = Math.round(performance.now());
