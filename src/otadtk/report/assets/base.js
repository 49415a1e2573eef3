// Shared by all scripts: data block, elements, number formats, colours, tooltip, theme.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

/** An element with attributes and children; strings become text, never markup. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "line", "path", "circle", "text", "defs", "pattern"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

const relativeText = (value) =>
  value == null ? "–" : (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)) + "×";
const percent = (share) => (share >= 0.1 ? (100 * share).toFixed(0) : (100 * share).toFixed(1)) + " %";
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** The colours of the current theme, in the form that a canvas needs. */
const colours = {
  probe: null,
  get(name) {
    this.probe ??= document.body.appendChild(make("span", { hidden: true }));
    this.probe.style.color = `var(--${name})`;
    return getComputedStyle(this.probe).color;
  },
  channels(name) {
    return this.get(name).match(/[\d.]+/g).slice(0, 3).map(Number);
  },
};

const mix = (from, to, t) => from.map((channel, k) => channel + (to[k] - channel) * t);
const rgb = (channels, alpha = 1) => `rgb(${channels.map(Math.round).join(" ")} / ${alpha})`;

const tip = {
  show(text, event) {
    const box = $("tip");
    box.textContent = text;
    box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = box;
    const left = Math.min(event.clientX + 14, innerWidth - width - 8);
    const top = event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${Math.max(8, top)}px`;
  },
  hide() { $("tip").hidden = true; },
};

/** Events of the page: select, filter, play, theme. */
const signals = {
  listeners: {},
  on(name, listener) { (this.listeners[name] ??= []).push(listener); },
  send(name, value) { for (const listener of this.listeners[name] ?? []) listener(value); },
};

/** Delays the action until it was not called for `wait` milliseconds. */
function debounce(action, wait = 80) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(action, wait); };
}

/** Switches the theme and redraws the canvases. */
function useTheme(name) {
  if (name === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = name;
  signals.send("theme");
}
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  useTheme("light");
});
addEventListener("afterprint", () => useTheme(theme));

const themes = { auto: "as the system", light: "light", dark: "dark" };
let theme = "auto";
$("theme").addEventListener("click", () => {
  theme = { auto: "light", light: "dark", dark: "auto" }[theme];
  $("theme").textContent = `Colours: ${theme}`;
  $("theme").setAttribute("aria-label", `Colours: ${theme}. Colour theme ${themes[theme]}; click to change`);
  useTheme(theme);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => signals.send("theme"));
