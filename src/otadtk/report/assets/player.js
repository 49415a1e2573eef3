// One audio element for the whole page: plays a clip by key, and compares two at equal loudness.

const audio = $("audio");
const player = {
  key: null,
  error: "",

  source(key) {
    const embedded = $(`sound-${key}`);
    if (embedded) return `data:audio/ogg;base64,${embedded.textContent}`;
    return canPlay(key) && isLinked(key) ? folderOf(key) + pathOf(key) : null;
  },

  get playing() { return this.key !== null && !audio.paused; },

  /** Play a clip from a time; with `against`, the louder of the two is lowered to the other's level. */
  async play(key, { at = null, against = null } = {}) {
    const source = this.source(key);
    if (source === null) return;
    const changed = this.key !== key;
    if (changed) {
      audio.pause();
      audio.src = source;
      this.key = key;
    }
    audio.volume = against === null ? 1 : matchedVolume(key, against);
    this.error = "";
    try {
      if (changed && audio.readyState < 1 && at) await once(audio, "loadedmetadata");
      if (at !== null) audio.currentTime = Math.min(at, Number.isFinite(audio.duration) ? audio.duration : at);
      else if (changed || audio.ended) audio.currentTime = 0;
      await audio.play();
    } catch (problem) {
      if (problem.name !== "AbortError" && this.key === key) this.fail();
    }
    signals.send("play");
  },

  fail() {
    this.error = `This browser cannot play ${nameOf(this.key)}.` +
      ($(`sound-${this.key}`) ? "" : " The page links to it; was the file moved?");
    this.key = null;
    signals.send("play");
  },

  pause() { audio.pause(); },

  toggle(key, options) {
    if (this.key === key && this.playing) this.pause();
    else this.play(key, options);
  },
};

function matchedVolume(key, other) {
  const mine = details[key]?.loudness, theirs = details[other]?.loudness;
  return mine == null || theirs == null ? 1 : Math.min(1, 10 ** ((theirs - mine) / 20));
}

function once(target, name) {
  return new Promise((resolve, reject) => {
    target.addEventListener(name, resolve, { once: true });
    target.addEventListener("error", () => reject(new Error("media")), { once: true });
  });
}

for (const name of ["play", "pause", "ended"]) audio.addEventListener(name, () => signals.send("play"));
audio.addEventListener("error", () => { if (player.key !== null) player.fail(); });

const hasSound = (key) => data.audio.mode !== "none" && folderOf(key) !== null;
const isLinked = (key) => folderOf(key) !== null && pathOf(key) !== "";
/** A clip inside another file has no path: it plays only if its sound is in the page. */
const canPlay = (key) => data.audio.mode !== "none" && (Boolean(details[key]?.sound) || isLinked(key));

/** A round button that plays or pauses a clip and shows which. */
function playButton(key, { small = false } = {}) {
  if (!canPlay(key)) return null;
  const button = make("button", {
    type: "button", class: small ? "play small" : "play", "data-key": key,
    onclick: (event) => { event.stopPropagation(); player.toggle(key); },
  });
  showState(button);
  return button;
}

function showState(button) {
  const on = player.playing && player.key === button.dataset.key;
  if (button.getAttribute("aria-pressed") === String(on)) return;
  button.setAttribute("aria-pressed", on);
  button.setAttribute("aria-label", `${on ? "Pause" : "Play"} ${nameOf(button.dataset.key)}`);
  const shape = on ? "M2 1h4v12H2zM8 1h4v12H8z" : "M2 1l11 6-11 6z";
  button.replaceChildren(make("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, make("path", { d: shape })));
}

signals.on("play", () => document.querySelectorAll(".play").forEach(showState));
