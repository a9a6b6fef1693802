// The live page: controls ask the server, answers redraw menu and figures.
import { draw, drawAll, overlay, plotly } from "./figures.js";

const WAIT = 250;
const element = (id) => document.getElementById(id);
const menuForm = element("menu-form");
const settingForm = element("setting-form");
const mixForm = element("mix-form");

let options = ""; // what the menu was chosen with, as a query; empty: the folder's own menu
let ids = [];
let shares = []; // whole percents, one for each id

/** Asks the server; of two questions of a kind only the later is answered. Resolves to nothing where it is dropped. */
const asking = {};
async function ask(path, query) {
  asking[path]?.abort();
  const control = (asking[path] = new AbortController());
  try {
    const answer = await fetch(`${path}?${query}`, { signal: control.signal });
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.error);
    return content;
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    if (error instanceof TypeError) throw new Error("the server does not answer: is halfmask explore still running?");
    throw error;
  }
}

const waiting = {};
function soon(name, act) {
  clearTimeout(waiting[name]);
  waiting[name] = setTimeout(act, WAIT);
}

/** Shows an error beside a control (its nearest field), or takes it away. */
function complain(form, control, message = "") {
  form.querySelectorAll(".error").forEach((old) => old.remove());
  form.querySelectorAll("[aria-invalid]").forEach((old) => {
    old.removeAttribute("aria-invalid");
    old.removeAttribute("aria-errormessage");
  });
  if (!message || !control) return;
  const told = document.createElement("p");
  told.className = "error";
  told.id = `${form.id}-error`;
  told.setAttribute("role", "alert");
  told.textContent = message;
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-errormessage", told.id);
  (control.closest(".field") ?? form).append(told);
}

const joined = (...parts) => parts.filter(Boolean).join("&");

// The menu.

function chosen() {
  const value = (name) => menuForm.elements[name].value.trim();
  const weights = ["privacy", "utility"].flatMap((kind) =>
    ["mean", "std", "entropy"].map((metric) => value(`${kind}-${metric}`)));
  const query = new URLSearchParams({ bins: value("bins"), omega: value("omega"), weights: weights.join(",") });
  query.set("max-mean", value("max-mean"));
  query.set("max-std", value("max-std"));
  return query;
}

/** One weight changes; the others of its kind keep their proportions and add up with it to 1. */
function rescale(changed) {
  const kind = changed.name.match(/^(privacy|utility)-/)?.[1];
  const value = Number(changed.value);
  if (!kind || changed.value.trim() === "" || !(value >= 0 && value <= 1)) return;
  const others = ["mean", "std", "entropy"].map((metric) => menuForm.elements[`${kind}-${metric}`])
    .filter((each) => each !== changed);
  const left = shareOut(others.map((each) => Number(each.value) || 0), Math.round((1 - value) * 1e9));
  others.forEach((each, place) => { each.value = String(left[place] / 1e9); });
}

async function loadMenu(query, control) {
  const status = element("menu-status");
  if (status) status.textContent = "choosing…";
  menuForm?.setAttribute("aria-busy", "true");
  const started = performance.now();
  try {
    const found = await ask("/api/menu", query);
    if (!found) return;
    if (menuForm) complain(menuForm, null);
    options = String(query);
    const table = element("menu-table");
    if (table) table.innerHTML = found.html; // the server's own markup, escaped there
    if (menuForm) element("menu-command").textContent = found.command;
    showMix(found.ids);
    drawAll(found.figures);
    if (status) status.textContent = query ? `chosen in ${((performance.now() - started) / 1000).toFixed(1)} s` : "";
    if (settingForm?.elements.setting.value.trim()) trySetting();
  } catch (error) {
    if (menuForm) complain(menuForm, control ?? menuForm.elements.bins, error.message);
    if (status) status.textContent = "the menu is unchanged";
  } finally {
    menuForm?.removeAttribute("aria-busy");
  }
}

menuForm?.addEventListener("submit", (event) => event.preventDefault());
menuForm?.addEventListener("input", (event) => {
  rescale(event.target);
  soon("menu", () => loadMenu(chosen(), event.target));
});
menuForm?.addEventListener("reset", () => {
  clearTimeout(waiting.menu);
  loadMenu("", null);
});

// One setting.

async function trySetting() {
  const field = settingForm.elements.setting;
  const text = field.value.trim();
  if (!text) {
    complain(settingForm, null);
    element("setting-found").hidden = true;
    overlay("trajectories", []);
    return;
  }
  try {
    const found = await ask("/api/setting", joined(options, new URLSearchParams({ setting: text })));
    if (!found) return;
    complain(settingForm, null);
    showSetting(found);
  } catch (error) {
    complain(settingForm, field, error.message);
    element("setting-found").hidden = true;
    overlay("trajectories", []);
  }
}

function showSetting(found) {
  element("setting-found").hidden = false;
  element("setting-sentence").textContent = `${found.sentence.replaceAll("-", "−")}. ${found.protection}`;
  const scores = element("setting-scores");
  scores.replaceChildren();
  if (found.privacy) {
    for (const name of ["privacy", "utility"]) {
      scores.append(score(name, found[name].median, `10th percentile ${found[name].p10.toFixed(2)}`, found.outside));
    }
  }
  const crowds = found.errors.filter((each) => each.error !== null)
    .map((each) => `${percent(each.error)} with ${each.users.toLocaleString("en")} users`);
  const told = crowds.length ? [`A ${found.period}'s total is off by ${crowds.join(", ")}, on average.`] : [];
  if (found.outside) told.push(OUTSIDE);
  if (found.keeps === false) {
    told.push(`Too noisy for a menu: it breaks the constraint of a mean below ${found.constraint.max_mean} and a ` +
      `standard deviation below ${found.constraint.max_std}.`);
  }
  element("setting-errors").textContent = told.join(" ");
  element("figure-shown").hidden = !found.figure;
  if (found.figure) draw(found.figure);
  overlay("trajectories", found.privacy && !found.outside ? pointOf(found) : []);
}

/** The setting as a star in the panels of all sizes: that of the mechanisms and that of the menu. */
function pointOf(found) {
  const panels = document.querySelector("#figure-trajectories .plot")?.layout?.xaxis2 ? ["", "2"] : [""];
  return panels.map((panel, place) => ({
    type: "scatter", mode: "markers", name: found.setting, legendgroup: "tried", showlegend: place === 0,
    x: [found.privacy.median], y: [found.utility.median], xaxis: `x${panel}`, yaxis: `y${panel}`, cliponaxis: false,
    marker: { symbol: "star", size: 17, color: "#E69F00", line: { width: 1.5, color: "#1b1f24" } },
    hovertemplate: `<b>${found.setting}</b><br>median privacy %{x:.3f}<br>median utility %{y:.3f}<extra></extra>`,
  }));
}

const percent = (value) => (value > 0 && value < 1e-4 ? "less than 0.01 %" : `${(value * 100).toFixed(value < 0.1 ? 2 : 1)} %`);

const OUTSIDE = "Outside the study's range: its errors exceed the largest that were tried, so it has no score.";

/** A score with its bar, as an entry of a list; none where it is outside of the study's range. */
function score(name, value, detail, outside = false) {
  const entry = document.createElement("div");
  entry.innerHTML = `<dt></dt><dd><b></b> <svg class="bar" aria-hidden="true"><rect height="100%"/></svg><small></small></dd>`;
  entry.querySelector("dt").textContent = name;
  entry.querySelector("b").textContent = outside ? "outside" : value.toFixed(3);
  entry.querySelector("rect").setAttribute("width", `${outside ? 0 : Math.min(Math.max(value, 0), 1) * 100}%`);
  entry.querySelector("small").textContent = outside ? "" : detail;
  return entry;
}

settingForm?.addEventListener("submit", (event) => {
  event.preventDefault();
  trySetting();
});
settingForm?.addEventListener("input", () => soon("setting", trySetting));

// One mix.

/** Whole percents in proportion to some parts that add up to `total`: the largest remainders are rounded up. */
export function shareOut(parts, total) {
  const sum = parts.reduce((a, b) => a + b, 0);
  const exact = parts.map((part) => (sum ? (part / sum) * total : total / parts.length));
  const whole = exact.map(Math.floor);
  const order = exact.map((value, place) => [whole[place] - value, place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  for (let left = total - whole.reduce((a, b) => a + b, 0), next = 0; left > 0; left -= 1, next += 1) whole[order[next][1]] += 1;
  return whole;
}

/** Sliders for the menu's settings, all with equal shares; left alone where the ids are the same. */
function showMix(found) {
  if (!mixForm || !found.length) return;
  if (found.join() !== ids.join()) {
    ids = found;
    shares = shareOut(ids.map(() => 1), 100);
    element("mix-sliders").replaceChildren(...ids.map((id, place) => {
      const row = document.createElement("div");
      row.innerHTML = `<label></label><input type="range" min="0" max="100" step="1"><output></output>`;
      const [label, slider, output] = row.children;
      slider.id = `share-${place}`;
      label.htmlFor = slider.id;
      output.htmlFor = slider.id;
      label.textContent = id;
      slider.setAttribute("aria-label", `share of users who take ${id}`);
      slider.addEventListener("input", () => move(place, Number(slider.value)));
      return row;
    }));
  }
  showShares();
  loadMix();
}

/** One slider moves; the others keep their proportions and share what is left. */
function move(place, value) {
  const others = shareOut(shares.filter((_, other) => other !== place), 100 - value);
  shares = [...others.slice(0, place), value, ...others.slice(place)];
  showShares();
  soon("mix", loadMix);
}

function showShares() {
  [...element("mix-sliders").children].forEach((row, place) => {
    row.querySelector("input").value = shares[place];
    row.querySelector("output").textContent = `${shares[place]} %`;
  });
}

async function loadMix() {
  const text = ids.map((id, place) => [id, shares[place]]).filter(([, share]) => share)
    .map(([id, share]) => `${id}=${share / 100}`).join(",");
  try {
    const found = await ask("/api/mix", joined(options, new URLSearchParams({ shares: text })));
    if (!found) return;
    complain(mixForm, null);
    element("mix-scores").replaceChildren(...["privacy", "utility"].map((name) => score(
      name, found[name].median,
      `${found[name].low.toFixed(3)} to ${found[name].high.toFixed(3)} over ${found.repeats} random deals`, found.outside,
    )));
    element("mix-protection").textContent = found.protection;
    element("mix-scores").dataset.shares = text;
  } catch (error) {
    complain(mixForm, element("mix-sliders"), error.message);
  }
}

mixForm?.addEventListener("submit", (event) => event.preventDefault());

loadMenu("", null);
setTimeout(plotly); // meanwhile
