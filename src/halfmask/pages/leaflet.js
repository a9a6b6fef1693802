// The choice of a leaflet: one curve, one slider, own readings. The page's policy forbids it to send anything.
import { periodOf } from "./calendar.js";
import { Curve } from "./curve.js";
import { byDay, readReadings } from "./readings_file.js";

const data = JSON.parse(document.getElementById("leaflet-data").textContent);
const at = (id) => document.getElementById(id);
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const words = { yours: data.line_yours, theirs: data.line_theirs, nothing: data.line_nothing, same: data.line_same };
const MOST_DAYS = 31;
let [series, marks, draws] = [data.example, data.marks, []];

function uniform() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return ((high >>> 5) * 67108864 + (low >>> 6) + 0.5) / 9007199254740992;
}

/** |psi| at equally spaced chances, linear between; the sign is a coin. */
function noise(quantiles, { chance, sign }) {
  const place = chance * (quantiles.length - 1), low = Math.floor(place);
  return sign * (quantiles[low] + (place - low) * (quantiles[Math.min(low + 1, quantiles.length - 1)] - quantiles[low]));
}

function written(value) {
  const large = Math.abs(value) >= 1000;
  const text = large ? Math.round(value).toString() : Number(value.toPrecision(3)).toString();
  const apart = large ? text.replace(/\B(?=(\d{3})+$)/g, data.thousands) : text.replace(".", data.decimal);
  return apart.replace("-", "\u2212");
}

const clipped = (value) => (data.bounds ? Math.min(Math.max(value, data.bounds[0]), data.bounds[1]) : value);

const curve = new Curve(at("curve"), words);
function show() {
  const chosen = Number(at("level").value), level = data.levels[chosen];
  for (const each of document.querySelectorAll("section.level")) each.hidden = Number(each.dataset.level) !== chosen;
  at("level").setAttribute("aria-valuetext", document.querySelector(`[data-level="${chosen}"] h3`).textContent);
  const seen = level.split ? draws.map((each) => each.chance)
    : series.map((value, k) => (level.quantiles ? clipped(value) + noise(level.quantiles, draws[k]) : value));
  curve.draw(series, seen, marks, { share: level.split, open: level.open });
}

/** The same noise for all levels, so that the slider shows what the level changes. */
function drawAfresh() {
  draws = series.map(() => ({ chance: uniform(), sign: uniform() < 0.5 ? -1 : 1 }));
  show();
}

function ownSeries(readings) {
  if (!data.totals) {
    const [first] = byDay(readings, zone, periodOf).filter((day) => day.readings.length > 1);
    return (first?.readings ?? readings).map((each) => Number(each.value));
  }
  const days = byDay(readings, zone, periodOf).slice(0, MOST_DAYS);
  return days.map((day) => day.readings.reduce((sum, each) => sum + Number(each.value), 0));
}

at("own").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  try {
    const readings = readReadings(await file.text(), zone), own = ownSeries(readings);
    if (own.length < 2) throw new RangeError("few");
    series = own;
    const ends = [readings[0], readings.at(-1)].map((each) => new Date(each.instant).toLocaleDateString(document.documentElement.lang));
    marks = data.totals ? [...new Set(ends)] : data.marks;
    const [low, high] = [Math.min(...own), Math.max(...own)].map((value) => `${written(value)} ${data.unit}`.trim());
    at("own-told").textContent = data.own_shown.replace("{count}", written(readings.length)).replace("{low}", low).replace("{high}", high);
    at("day").textContent = data.day_own;
    drawAfresh();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    at("own-told").textContent = data[`own_bad_${error.message}`] ?? data.own_bad_few;
  }
});
at("level").addEventListener("input", show);
at("choice").hidden = false;
document.body.classList.add("live");
drawAfresh();
