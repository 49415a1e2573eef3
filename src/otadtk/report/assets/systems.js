// Clips of several systems by key (system-index): names, paths and labels.

const { systems, details } = data;
const keyOf = (clip, k) => `${k}-${clip.indices[k]}`;
const partsOf = (key) => key.split("-");
const folderOf = (key) => systems[partsOf(key)[0]].folder;
const nameOf = (key) => systems[partsOf(key)[0]].names[partsOf(key)[1]];
const pathOf = (key) =>
  systems[partsOf(key)[0]].links[partsOf(key)[1]] ?? nameOf(key).split("/").map(encodeURIComponent).join("/");
const labelsOf = (key) => details[key]?.labels ?? [];
