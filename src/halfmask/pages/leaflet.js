// Draws a household's own day under each level. Nothing here can send anything: the page's policy forbids it.
"use strict";
const data = JSON.parse(document.getElementById("leaflet-data").textContent);
const PLAIN = /^-?\d+,\d+$/;

function uniform() {
  const words = crypto.getRandomValues(new Uint32Array(2));
  return ((words[0] >>> 5) * 67108864 + (words[1] >>> 6) + 0.5) / 9007199254740992;
}

function noise(quantiles) {
  // |psi| at equally spaced chances, linear between; the sign is a coin.
  const place = uniform() * (quantiles.length - 1), low = Math.floor(place);
  const size = quantiles[low] + (place - low) * (quantiles[Math.min(low + 1, quantiles.length - 1)] - quantiles[low]);
  return uniform() < 0.5 ? -size : size;
}

function decimalCommas(lines) {
  // 0,53 is a number, unless commas part columns elsewhere in the file or what stands before them counts the rows.
  const found = lines.filter((line) => PLAIN.test(line)), firsts = found.map((line) => parseInt(line, 10));
  if (lines.some((line) => line.includes(",") && !/[;\t]/.test(line) && !PLAIN.test(line))) return false;
  return !(found.length > 2 && firsts.every((first, k) => k === 0 || first === firsts[k - 1] + 1));
}

function numbers(text) {
  // The last cell of each line: 18:30;0,53 and 18:30,0.53 end in a reading.
  const lines = text.split(/\r?\n/).map((line) => line.trim()), commas = decimalCommas(lines);
  const last = (line) => /[;\t]/.test(line) ? line.split(/[;\t]/).pop().trim().replace(",", ".")
    : commas && PLAIN.test(line) ? line.replace(",", ".") : line.split(",").pop().trim();
  return lines.map(last).filter((cell) => cell !== "" && !Number.isNaN(Number(cell))).map(Number).slice(0, 1440);
}

function written(value, digits) {
  // As the page writes numbers: so many digits, or whole numbers with their thousands apart.
  const large = Math.abs(value) >= 100;
  const text = large ? Math.round(value).toString() : Number(value.toPrecision(digits)).toString();
  const apart = large ? text.replace(/\B(?=(\d{3})+$)/g, data.thousands) : text.replace(".", data.decimal);
  return apart.replace("-", "\u2212");
}

function draw(figure, scale, day, seen) {
  const height = (value) => data.height * (scale.high - value) / (scale.high - scale.low || 1);
  const points = (values) => values.map((value, k) =>
    `${(k * data.width / Math.max(values.length - 1, 1)).toFixed(1)},${height(value).toFixed(1)}`).join(" ");
  figure.querySelector(".true").setAttribute("points", points(day));
  figure.querySelector(".seen").setAttribute("points", points(seen));
  const lines = figure.querySelectorAll(".rule"), labels = figure.querySelectorAll(".label");
  [scale.high, 0, scale.low].forEach((value, k) => {
    for (const end of ["y1", "y2"]) lines[k].setAttribute(end, height(value).toFixed(1));
    labels[k].setAttribute("y", height(value).toFixed(1));
    const apart = k === 1 || Math.abs(height(value) - height(0)) >= data.room;
    labels[k].textContent = apart ? written(value, 2) : "";
  });
}

document.getElementById("own").addEventListener("change", async (event) => {
  const file = event.target.files[0];
  if (!file) return;
  const day = numbers(await file.text()), told = document.getElementById("own-told");
  if (day.length < 2) {
    told.textContent = data.own_bad;
    return;
  }
  const [low, high] = [Math.min(...day), Math.max(...day)].map((value) => `${written(value, 3)} ${data.unit}`.trim());
  told.textContent = data.own_shown.replace("{count}", day.length).replace("{low}", low).replace("{high}", high);
  document.getElementById("day").textContent = data.day_own;
  const seen = data.levels.map((level) => day.map((value) => value + (level.quantiles ? noise(level.quantiles) : 0)));
  const all = [0, ...day, ...seen.flat()];
  const scale = { low: all.reduce((a, b) => Math.min(a, b)), high: all.reduce((a, b) => Math.max(a, b)) };
  data.levels.forEach((level, k) => draw(document.querySelector(`[data-level="${level.id}"]`), scale, day, seen[k]));
});
