// The explore page: controls ask the server, answers redraw picture and cards, and the address keeps the state.
import { cardOf } from "./cards.js";
import { Scatter } from "./scatter.js";

const element = (id) => document.getElementById(id);
const form = element("controls");
const QUESTION = ["producers", "within", "protect", "epsilon", "high", "release"];
const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const WAIT = 120;
const share = (value) => `${Number((100 * value).toPrecision(3))} %`;
const plain = (value) => (value >= 1e5 || (value < 1e-3 && value > 0) ? value.toExponential(0) : Number(value.toPrecision(3)).toLocaleString("en"));
const AXES = {
  epsilon: { log: true, better: -1, label: plain, room: [0.01, 1000], hint: "smaller is stronger" },
  error: { log: true, better: -1, label: share, room: [1e-5, 1], hint: "smaller is more exact" },
  guess: { better: 1, label: share, hint: "of a reading or total, against guessing without a report" },
  noise: { log: true, better: 0, label: plain },
  privacy: { better: 1, label: plain, room: [0, 1] },
  utility: { better: 1, label: plain, room: [0, 1] },
};

const held = {}; // columns and texts by release
const cache = new Map();
let answer = null;
let pins = []; // settings as text
let pinned = []; // their cards
const start = new Map(); // the controls as they were served

// The state: controls, and their place in the address.

function values() {
  const found = new Map();
  for (const control of form.elements) {
    if (!control.name) continue;
    if (control.type === "radio") {
      if (control.checked) found.set(control.name, control.value);
    } else if (control.type === "checkbox") {
      const name = control.value === "on" ? control.name : `${control.name}-${control.value}`;
      found.set(name, control.checked ? "1" : "0");
    } else found.set(control.name, control.value.trim());
  }
  return found;
}

function restore(state) {
  for (const control of form.elements) {
    const name = control.type === "checkbox" && control.value !== "on" ? `${control.name}-${control.value}` : control.name;
    if (!name || !state.has(name)) continue;
    if (control.type === "radio") control.checked = control.value === state.get(name);
    else if (control.type === "checkbox") control.checked = state.get(name) === "1";
    else control.value = state.get(name);
  }
}

function keep() {
  const changed = new URLSearchParams([...values()].filter(([name, value]) => start.get(name) !== value));
  pins.forEach((each) => changed.append("pin", each));
  history.replaceState(null, "", `${location.pathname}${changed.size ? `?${changed}` : ""}`);
}

/** What the server is asked; only what differs from the start, so that the folder's own offer is recognised. */
function question() {
  const now = values();
  const query = new URLSearchParams();
  for (const name of QUESTION) {
    if (now.get(name) === start.get(name)) continue;
    query.set(name, name === "within" ? String(Number((now.get(name) / 100).toPrecision(9))) : now.get(name));
  }
  return query;
}

// The server.

let asking = null;
async function ask(path, query, signal) {
  const address = `${path}?${query}`;
  if (cache.has(address)) return cache.get(address);
  let reply;
  try {
    reply = await fetch(address, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The program does not answer: is halfmask explore still running?");
  }
  const content = await reply.json();
  if (!reply.ok) throw new Error(content.error);
  cache.set(address, content);
  return content;
}

const bytes = Uint8Array.fromBase64 ?? ((text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0)));
const floats = (text) => new Float32Array(bytes(text).buffer);

async function columns(release, signal) {
  if (!held[release]) {
    const found = await ask("/api/settings", new URLSearchParams({ release }), signal);
    const made = { names: found.names, limit: found.limit };
    for (const name of ["mechanism", "noise", "privacy", "utility"]) made[name] = floats(found[name]);
    held[release] = made;
  }
  return held[release];
}

// The picture.

const scatter = new Scatter(element("scatter"), { pick: pinRow, hover: wordsOf });

function colours(names) {
  return names.map((_, place) => [1, 3, 5].map((at) => parseInt(PALETTE[place % PALETTE.length].slice(at, at + 2), 16) / 255));
}

function mechanismTicks(names) {
  const ticks = element("mechanisms");
  const shown = [...ticks.querySelectorAll("input")].map((each) => each.value);
  const wanted = names.filter((name) => name !== "none");
  if (shown.join() === wanted.join()) return;
  ticks.replaceChildren(...wanted.map((name) => {
    const label = document.createElement("label");
    label.className = "tick";
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "mechanism", value: name, defaultChecked: true });
    const dot = document.createElement("i");
    dot.style.setProperty("--dot", PALETTE[names.indexOf(name) % PALETTE.length]);
    label.append(box, " ", dot, ` ${name}`);
    if (!start.has(`mechanism-${name}`)) start.set(`mechanism-${name}`, "1");
    const state = new URLSearchParams(location.search).get(`mechanism-${name}`);
    if (state !== null) box.checked = state === "1";
    return label;
  }));
}

/** The rows that no other row beats on both axes, in order across. */
function frontOf(rows, x, y, better) {
  if (!better[0] || !better[1]) return [];
  const finite = rows.filter((row) => Number.isFinite(x[row]) && Number.isFinite(y[row]));
  finite.sort((a, b) => better[0] * (x[b] - x[a]) || better[1] * (y[b] - y[a]));
  const kept = [];
  let best = -Infinity;
  for (const row of finite) {
    if (better[1] * y[row] <= best) continue;
    best = better[1] * y[row];
    kept.push(row);
  }
  return kept.sort((a, b) => x[a] - x[b]);
}

async function redraw() {
  const now = values();
  const found = await columns(now.get("release"));
  const column = async (name) => {
    if (name === "error" || name === "epsilon") return (answer[`${name}s`] ??= floats(answer[name]));
    if (name !== "guess") return found[name];
    if (!found.guess) {
      element("status").textContent = "Computing the best guess under all settings…";
      found.guess = floats(await ask("/api/guesses", new URLSearchParams({ release: now.get("release") })));
      element("status").textContent = "";
    }
    return found.guess;
  };
  const names = [now.get("x"), now.get("y")];
  const [x, y, error, epsilon] = await Promise.all([...names, "error", "epsilon"].map(column));
  const ticked = found.names.map((name) => now.get(`mechanism-${name}`) !== "0");
  const [within, most] = [now.get("within") / 100, Number(now.get("epsilon"))];
  const fits = (row) => error[row] <= within && epsilon[row] <= most;
  const shown = [];
  for (let row = 0; row < x.length; row += 1) {
    if (!ticked[found.mechanism[row]] || Number.isNaN(x[row]) || Number.isNaN(y[row])) continue;
    if (now.get("guarantee") === "1" && epsilon[row] === Infinity) continue;
    if (now.get("fitting") === "1" && !fits(row)) continue;
    shown.push(row);
  }
  const spec = names.map((name) => {
    const hint = AXES[name].hint ? ` (${AXES[name].hint})` : "";
    return { ...AXES[name], title: `${form.elements.x.querySelector(`[value=${name}]`).textContent}${hint}` };
  });
  const layer = (name) => now.get(`layer-${name}`) === "1";
  const cards = [...(layer("offer") ? answer.levels : []), ...(layer("paper") ? answer.paper : []), ...pinned];
  const value = (card, name) => (name === "epsilon" && card.values.epsilon === null ? Infinity : card.values[name] ?? NaN);
  const bounds = { error: within, epsilon: most };
  const scored = names.includes("privacy") && names.includes("utility") && found.limit && layer("limit");
  const limit = scored ? [{ name: "limit", x: found.limit[names[0] === "privacy" ? 0 : 1], y: found.limit[names[0] === "privacy" ? 1 : 0] }] : [];
  scatter.show({
    all: layer("all"), shown, kind: found.mechanism, colours: colours(found.names),
    x: { spec: spec[0], values: x }, y: { spec: spec[1], values: y },
    front: layer("front") ? frontOf(shown, x, y, names.map((name) => AXES[name].better)) : [],
    lines: limit,
    marks: cards.map((card) => ({ id: card.id ?? card.setting, layer: card.layer, x: value(card, names[0]), y: value(card, names[1]) })),
    fits: names.some((name) => name in bounds) ? { x: bounds[names[0]], y: bounds[names[1]] } : null,
  });
  const many = shown.filter(fits).length;
  const others = many ? [] : answer.levels.filter(({ values: of }) => of.error <= within && of.epsilon !== null && of.epsilon <= most).map((each) => each.id);
  const unticked = ticked.every((each) => !each) ? "No mechanism is ticked. " : "";
  element("legend").textContent = `${unticked}${shown.length.toLocaleString("en")} of ${x.length.toLocaleString("en")} settings are shown; ${many.toLocaleString("en")} of them fit${others.length ? `, but level ${others.join(" and ")} does` : ""}.`;
  performance.mark("halfmask-drawn");
  element("scatter").dataset.drawn = String(shown.length);
}

function wordsOf(row) {
  const release = values().get("release");
  if (!held[release].texts) {
    ask("/api/texts", new URLSearchParams({ release })).then((texts) => { held[release].texts = texts; });
  }
  const epsilon = answer.epsilons[row];
  return `${held[release].texts?.[row] ?? held[release].names[held[release].mechanism[row]]}: error ${share(answer.errors[row])}, ` +
    `${epsilon === Infinity ? "no promise" : `epsilon ${plain(epsilon)}`}. Click to pin.`;
}

// Pins.

async function pinRow(row) {
  const release = values().get("release");
  held[release].texts ??= await ask("/api/texts", new URLSearchParams({ release }));
  await pin(held[release].texts[row]);
}

async function pin(text) {
  if (!text || pins.includes(text)) return;
  try {
    await ask("/api/setting", withSetting(text));
  } catch (error) {
    element("status").textContent = error.message;
    return;
  }
  element("status").textContent = "";
  pins.push(text);
  await load();
  element("cards").lastElementChild?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function withSetting(setting) {
  const query = question();
  query.set("setting", setting);
  return query;
}

async function loadPins(signal) {
  const found = await Promise.all(pins.map((text) => ask("/api/setting", withSetting(text), signal).catch((error) => {
    if (error.name === "AbortError") throw error;
    return null; // of another release
  })));
  pinned = found.map((card, place) => card && { ...card, layer: "pinned", text: pins[place] }).filter(Boolean);
}

function showCards() {
  const now = values();
  const shown = [...answer.levels, ...(now.get("layer-paper") === "1" ? answer.paper : []), ...pinned];
  element("cards").replaceChildren(...shown.map((card) => cardOf(card, card.layer === "pinned" ? () => {
    pins = pins.filter((each) => each !== card.text);
    load();
  } : null)));
}

// Answers.

async function showClosest(query, signal) {
  const list = element("closest");
  list.hidden = answer.fits;
  if (answer.fits) return;
  list.replaceChildren();
  const ways = await ask("/api/closest", query, signal);
  list.replaceChildren(...ways.map((way) => {
    const row = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: way.words });
    button.addEventListener("click", () => {
      const state = new Map(Object.entries(way.set));
      if (state.has("within")) state.set("within", String(Number((100 * state.get("within")).toPrecision(6))));
      restore(state);
      load();
    });
    row.append(button);
    return row;
  }));
}

async function load() {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  const query = question();
  keep();
  form.setAttribute("aria-busy", "true");
  try {
    const [found, all] = await Promise.all([ask("/api/answer", query, signal), columns(values().get("release"), signal), loadPins(signal)]);
    answer = found;
    mechanismTicks(all.names);
    complain();
    element("sentence").textContent = found.sentence;
    element("sentence").classList.toggle("bad", !found.fits);
    element("bounds").textContent = found.bounds;
    element("command").textContent = found.command;
    await redraw();
    showCards();
    await showClosest(query, signal);
  } catch (error) {
    if (error.name !== "AbortError") complain(error.message);
  } finally {
    if (!signal.aborted) form.removeAttribute("aria-busy");
  }
}

function complain(message = "") {
  element("status").textContent = message;
  element("status").classList.toggle("bad", Boolean(message));
}

let waiting;
form.addEventListener("input", (event) => {
  if (!event.target.name) return;
  if (!event.target.checkValidity()) {
    complain(`${event.target.labels[0].textContent}: ${event.target.validationMessage}`);
    return;
  }
  clearTimeout(waiting);
  const asks = QUESTION.includes(event.target.name);
  if (asks) waiting = setTimeout(load, event.target.type === "number" ? WAIT : 0);
  else if (answer) {
    keep();
    redraw().then(showCards).catch((error) => complain(error.message));
  }
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => {
  pins = [];
  setTimeout(load);
});
const tryTyped = () => pin(element("typed").value.trim());
element("try").addEventListener("click", tryTyped);
element("typed").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  tryTyped();
});
element("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(element("command").textContent);
  complain();
  element("status").textContent = "Copied.";
});
element("save").addEventListener("click", async () => {
  complain();
  element("status").textContent = "Making the offer…";
  element("save").disabled = true;
  try {
    const reply = await fetch(`/api/offer?${question()}`, { method: "POST" });
    const text = await reply.text();
    if (!reply.ok) throw new Error(JSON.parse(text).error);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "offer.json";
    link.click();
    element("status").textContent = "Saved offer.json. Its figures follow from a summary with epsilon 1; each further offer spends that again.";
  } catch (error) {
    complain(error.message);
  } finally {
    element("save").disabled = false;
  }
});

for (const [name, value] of values()) start.set(name, value);
const state = new URLSearchParams(location.search);
pins = state.getAll("pin");
restore(state);
load();
