// The selected clip in full: sound, cost along time, labels, nearest references.

const WAVE_HEIGHT = 64, MEL_HEIGHT = 132, STRIP_HEIGHT = 22;

function inspect(j) {
  const key = `e${j}`, partners = partnersOf(j), nearest = partners[0]?.key;
  const rank = `${rankOf[j]} of ${total.toLocaleString("en")}`;
  const parts = [
    make("h3", {}, nameOf(key)),
    make("p", { class: "standing" }, make("strong", {}, `${relativeText(evaluated.relative[j])} the ${data.typical}`), `, rank ${rank}`),
    details[key] ? soundPicture(key) : make("p", { class: "lead" }, whyNoPicture(j)),
  ];
  if (badges(j).length) parts.push(make("p", {}, ...badges(j)));
  if (canPlay(key)) parts.push(controls(key, nearest));
  parts.push(make("p", { class: "player-error", role: "status" }, player.error));
  if (labelsOf(key).length) {
    parts.push(make("h4", {}, "Heard by YAMNet"), make("ul", { class: "labels" }, ...labelsOf(key).map(([name, score]) =>
      make("li", {}, make("span", {}, name), meter(score), make("span", { class: "amount" }, score.toFixed(2))))));
  }
  if (qualityOf(j).length) {
    parts.push(make("h4", {}, "Predicted speech quality, 1 to 5"), make("ul", { class: "labels" }, ...qualityOf(j, true).map(([name, score]) =>
      make("li", {}, make("span", {}, name), meter((score - 1) / 4), make("span", { class: "amount" }, score.toFixed(1))))));
  }
  if (groupsOf(j).length) parts.push(make("h4", {}, "Groups"), make("p", {}, groupsOf(j).join(" · ")));
  if (partners.length) {
    parts.push(make("h4", {}, "Nearest references, by share of mass"), make("ul", { class: "partners" },
      ...partners.map(({ key: partner, share }) => make("li", {}, playButton(partner, { small: true }) ?? make("span"),
        make("span", { class: "clip-name", title: nameOf(partner) }, nameOf(partner)), meter(share, "share"),
        make("span", { class: "amount" }, percent(share))))));
  }
  $("inspector").replaceChildren(...parts);
}

function whyNoPicture(j) {
  if (data.audio.evaluated === null) return "There is no audio behind these embeddings.";
  return data.worst.includes(j) ? "Its audio could not be read when this page was written."
    : `Only the worst ${data.worst.length} clips have pictures.`;
}

function meter(value, kind = "") {
  const bar = make("i");
  bar.style.width = `${100 * Math.min(value, 1)}%`;
  return make("span", { class: `meter ${kind}` }, bar);
}

function controls(key, nearest) {
  const button = (letter, mine, other, words) => make("button", {
    type: "button", "data-ab": mine, "aria-pressed": "false", "aria-label": words, onclick: () => alternate(mine, other),
  }, letter);
  const play = playButton(key);
  if (!nearest) return make("div", { class: "controls" }, play);
  return make("div", { class: "controls" }, play,
    button("A  this clip", key, nearest, "A: this clip, at equal loudness"),
    button("B  nearest reference", nearest, key, "B: the nearest reference, at equal loudness"));
}

/** Play one of two clips from the current time of the other. */
function alternate(key, other) {
  const at = player.key === other || player.key === key ? audio.currentTime : 0;
  player.play(key, { at: audio.ended ? 0 : at, against: other });
}

/** Waveform, spectrogram and cost along time; a click plays from there. */
function soundPicture(key) {
  const clip = details[key];
  const canvas = make("canvas", { role: "img", "aria-label": `Waveform and spectrogram of ${nameOf(key)}` });
  const head = make("div", { class: "head", hidden: true });
  const heard = clip.strip.filter((cost) => cost !== null), mean = heard.reduce((a, b) => a + b, 0) / heard.length;
  const timeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return Math.max(0, (clip.seconds * (event.clientX - box.left)) / box.width);
  };
  const frame = make("div", {
    class: "sound",
    onclick: (event) => player.play(key, { at: timeAt(event) }),
    onpointermove: (event) => {
      const at = timeAt(event), cost = clip.strip[Math.floor(at / clip.step)];
      const words = cost > 0 ? `costs ${relativeText(cost / mean)} the mean of the clip` : "";
      tip.show([`${at.toFixed(1)} s`, words, canPlay(key) ? "Click to play from here." : ""].filter(Boolean).join("\n"), event);
    },
    onpointerleave: () => tip.hide(),
  }, canvas, head);
  const note = clip.strip.length ? "below: cost along time" : "";
  const end = `${clip.seconds.toFixed(1)} s${clip.whole ? "" : " of more"}`;
  requestAnimationFrame(() => drawSound(canvas, key));
  followHead(head, key, clip.seconds);
  return make("div", {}, frame, make("p", { class: "scale" }, make("span", {}, "0 s"), make("span", {}, note), make("span", {}, end)));
}

function drawSound(canvas, key) {
  const clip = details[key], picture = pictureOf(key), width = canvas.clientWidth;
  if (!width) return;
  const strip = clip.strip.length ? STRIP_HEIGHT + 4 : 0;
  const height = WAVE_HEIGHT + MEL_HEIGHT + 4 + strip;
  canvas.style.height = `${height}px`;
  const context = prepare(canvas, width, height);
  drawWave(context, picture.wave, 0, 0, width, WAVE_HEIGHT, colours.get("muted"));
  drawMel(context, picture.mel, 0, WAVE_HEIGHT + 4, width, MEL_HEIGHT);
  if (strip) drawStrip(context, clip, height - STRIP_HEIGHT, width);
}

/** The cost of each frame as a bar: higher and warmer for larger costs, no bar for silence. */
function drawStrip(context, clip, top, width) {
  const known = clip.strip.filter((cost) => cost !== null);
  const most = Math.max(...known), least = Math.min(...known) * 0.8;
  const quiet = colours.channels("cost-soft"), loud = colours.channels("cost");
  clip.strip.forEach((cost, k) => {
    const left = (k * clip.step / clip.seconds) * width, right = Math.min(((k + 1) * clip.step / clip.seconds) * width, width);
    if (cost === null || left >= width) return;
    const level = most > least ? (cost - least) / (most - least) : 1, tall = 3 + (STRIP_HEIGHT - 3) * level;
    context.fillStyle = rgb(mix(quiet, loud, level));
    context.fillRect(left, top + STRIP_HEIGHT - tall, Math.max(right - left - 1, 1), tall);
  });
}

function followHead(head, key, seconds) {
  const step = () => {
    if (!head.isConnected && head.dataset.shown) return;
    head.dataset.shown = "yes";
    head.hidden = player.key !== key;
    head.style.left = `${(100 * Math.min(audio.currentTime, seconds)) / seconds}%`;
    if (player.playing && player.key === key) requestAnimationFrame(step);
  };
  const wake = () => requestAnimationFrame(step);
  signals.on("play", () => { if (head.isConnected) wake(); });
}

signals.on("select", inspect);
signals.on("play", () => {
  for (const button of document.querySelectorAll("[data-ab]")) {
    button.setAttribute("aria-pressed", player.playing && player.key === button.dataset.ab);
  }
  const line = document.querySelector(".player-error");
  if (line) line.textContent = player.error;
});
signals.on("theme", () => { if (table.selected !== null) inspect(table.selected); });
