// Draws a household's own day under each level. Nothing here can send anything: the page's policy forbids it.
"use strict";
const data = JSON.parse(document.getElementById("leaflet-data").textContent);

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

function points(values, low, high) {
  const step = 600 / Math.max(values.length - 1, 1);
  return values.map((v, k) => `${(k * step).toFixed(1)},${(160 - 150 * (v - low) / (high - low || 1)).toFixed(1)}`).join(" ");
}

function last(line) {
  // 18:30;0,53 and 18:30,0.53 end in a reading; 0,53 is one where numbers are written so.
  if (/[;\t]/.test(line)) return line.split(/[;\t]/).pop().trim().replace(",", ".");
  if (data.decimal === "," && /^-?\d+,\d+$/.test(line)) return line.replace(",", ".");
  return line.split(",").pop().trim();
}

function numbers(text) {
  return text.split(/\r?\n/).map((line) => last(line.trim()))
    .filter((cell) => cell !== "" && !Number.isNaN(Number(cell))).map(Number).slice(0, 1440);
}

document.getElementById("own").addEventListener("change", async (event) => {
  const file = event.target.files[0];
  if (!file) return;
  const day = numbers(await file.text());
  const told = document.getElementById("own-told");
  told.textContent = day.length > 1 ? data.shown : data.bad;
  if (day.length < 2) return;
  for (const level of data.levels) {
    const seen = day.map((value) => value + (level.quantiles ? noise(level.quantiles) : 0));
    const low = Math.min(0, ...seen, ...day), high = Math.max(...seen, ...day);
    const figure = document.querySelector(`[data-level="${level.id}"]`);
    figure.querySelector(".true").setAttribute("points", points(day, low, high));
    figure.querySelector(".seen").setAttribute("points", points(seen, low, high));
    const zero = (160 - 150 * (0 - low) / (high - low || 1)).toFixed(1);
    figure.querySelector(".zero").setAttribute("y1", zero);
    figure.querySelector(".zero").setAttribute("y2", zero);
    figure.querySelector(".top").textContent = `${high.toPrecision(2).replace(".", data.decimal)} ${data.unit}`;
  }
});
