// Totals over time with their band; open periods are hatched, withheld ones are gaps. Drawn as SVG.
import { element } from "./curve.js";

const [HEIGHT, LEFT, TOP, FOOT] = [280, 58, 14, 28];

/** `entries`: listed periods in order; `smoothed`: draw that estimate if there is one. `write` formats numbers. */
export function drawTotals(svg, entries, { smoothed, write, truth = null }) {
  const width = Math.max(svg.clientWidth, 300);
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  const shown = entries.map((each) => ({ ...each, value: (smoothed && each.smoothed) || each.sum }));
  const known = shown.filter((each) => each.value);
  const ends = [...known.flatMap((each) => [each.value.low, each.value.high]), ...(truth ?? [])];
  if (!ends.length) return svg.replaceChildren();
  const space = Math.max(...ends) - Math.min(...ends) || Math.abs(ends[0]) || 1;
  const [low, high] = [Math.min(...ends) - 0.08 * space, Math.max(...ends) + 0.08 * space];
  const y = (value) => TOP + ((HEIGHT - TOP - FOOT) * (high - value)) / (high - low);
  const slot = (width - LEFT) / shown.length, x = (k) => LEFT + slot * (k + 0.5);
  const parts = [hatching(), ...axis(low, high, y, width, write)];
  for (const [first, last] of runs(shown)) {
    const band = [...Array(last - first + 1).keys()].map((k) => first + k);
    const edge = (side) => band.flatMap((k) => [[x(k) - slot / 2, y(shown[k].value[side])], [x(k) + slot / 2, y(shown[k].value[side])]]);
    const outline = [...edge("high"), ...edge("low").reverse()].map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ");
    parts.push(element("polygon", { class: "band", points: outline }));
    parts.push(element("polyline", { class: "seen", points: band.map((k) => `${x(k).toFixed(1)},${y(shown[k].value.estimate).toFixed(1)}`).join(" ") }));
  }
  shown.forEach((each, k) => {
    const box = { x: (x(k) - slot / 2).toFixed(1), width: slot.toFixed(1), y: TOP, height: HEIGHT - TOP - FOOT };
    if (each.state !== "closed") parts.push(element("rect", { ...box, class: "hatched", fill: "url(#open-period)" }));
    else if (!each.value) parts.push(element("rect", { ...box, class: "gap" }));
    if (each.value && (shown.length < 60 || each.state !== "closed")) parts.push(element("circle", { class: "dot", cx: x(k).toFixed(1), cy: y(each.value.estimate).toFixed(1), r: 3 }));
  });
  if (truth) parts.push(element("polyline", { class: "true", points: truth.map((value, k) => `${x(k).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }));
  const every = Math.ceil(shown.length / Math.max(2, Math.floor((width - LEFT) / 90)));
  shown.forEach((each, k) => {
    if (k % every === 0 && x(k) < width - 30) parts.push(element("text", { class: "mark", x: x(k).toFixed(1), y: HEIGHT - 8, "text-anchor": "middle" }, each.period.slice(-11)));
  });
  svg.replaceChildren(...parts);
}

/** First and last of each run of periods that have an estimate. */
export function runs(shown) {
  const found = [];
  shown.forEach((each, k) => {
    if (!each.value) return;
    if (k && shown[k - 1].value) found.at(-1)[1] = k;
    else found.push([k, k]);
  });
  return found;
}

function hatching() {
  const defs = element("defs"), pattern = element("pattern", { id: "open-period", width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(element("line", { class: "hatch", x1: 0, y1: 0, x2: 0, y2: 8 }));
  defs.append(pattern);
  return defs;
}

function axis(low, high, y, width, write) {
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough), marks = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
    const at = y(value).toFixed(1);
    marks.push(element("line", { class: "rule", x1: LEFT, x2: width, y1: at, y2: at }));
    marks.push(element("text", { class: "mark", x: LEFT - 6, y: Number(at) + 4, "text-anchor": "end" }, write(Math.abs(value) < step / 1e6 ? 0 : value)));
  }
  return marks;
}
