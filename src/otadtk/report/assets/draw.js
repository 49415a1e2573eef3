// Pictures of a clip on a canvas: waveform above, mel spectrogram below.

const BANDS = 40;
const decoded = new Map();

/** The bytes of a clip's pictures, decoded from base64 once. */
function pictureOf(key) {
  if (!decoded.has(key)) {
    const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const found = details[key];
    decoded.set(key, found ? { wave: bytes(found.wave), mel: bytes(found.mel) } : null);
  }
  return decoded.get(key);
}

/** 256 colours from background to loudest. */
const ramp = {
  table: null,
  get() {
    if (this.table) return this.table;
    const dark = colours.channels("paper")[0] < 128;
    const stops = dark
      ? [colours.channels("ground"), [58, 47, 92], [176, 78, 104], [244, 160, 104], [255, 236, 190]]
      : [colours.channels("ground"), [205, 219, 236], [112, 151, 199], [37, 82, 145], [14, 26, 56]];
    this.table = Array.from({ length: 256 }, (_, level) => {
      const position = (level / 255) * (stops.length - 1), k = Math.min(Math.floor(position), stops.length - 2);
      return mix(stops[k], stops[k + 1], position - k);
    });
    return this.table;
  },
};
signals.on("theme", () => { ramp.table = null; });

/** Sets the size of a canvas in screen pixels; gives its context. */
function prepare(canvas, width, height) {
  const density = Math.min(devicePixelRatio || 1, 2);
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  const context = canvas.getContext("2d");
  context.scale(density, density);
  return context;
}

function drawMel(context, mel, x, y, width, height) {
  const columns = mel.length / BANDS;
  const image = new ImageData(columns, BANDS), table = ramp.get();
  for (let band = 0; band < BANDS; band++) {
    for (let column = 0; column < columns; column++) {
      const colour = table[mel[band * columns + column]];
      const offset = 4 * ((BANDS - 1 - band) * columns + column);
      image.data.set([colour[0], colour[1], colour[2], 255], offset);
    }
  }
  const small = new OffscreenCanvas(columns, BANDS);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = true;
  context.drawImage(small, x, y, width, height);
}

function drawWave(context, wave, x, y, width, height, colour) {
  const columns = wave.length / 2, step = width / columns;
  context.fillStyle = colour;
  for (let column = 0; column < columns; column++) {
    const low = y + height * (1 - wave[column] / 255), high = y + height * (1 - wave[columns + column] / 255);
    context.fillRect(x + column * step, high, Math.max(step * 0.8, 0.6), Math.max(low - high, 1));
  }
}

/** A small picture of a clip; null if it has none. */
function thumbnail(key, width = 122, height = 46) {
  const picture = pictureOf(key);
  if (!picture) return null;
  const canvas = make("canvas", { "aria-hidden": "true" });
  const context = prepare(canvas, width, height), split = Math.round(height * 0.38);
  drawWave(context, picture.wave, 0, 0, width, split, colours.get("muted"));
  drawMel(context, picture.mel, 0, split + 1, width, height - split - 1);
  return canvas;
}
