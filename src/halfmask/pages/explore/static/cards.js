// A card of one setting: a day before and after, and what it promises and costs.
import { svg } from "./scatter.js";

const [WIDTH, HEIGHT] = [200, 62];

/** The day in grey, and in the accent's colour what others see: a line, a range for the day's average, or nothing. */
function picture(day, seen) {
  const drawn = svg("svg", { viewBox: `-2 -4 ${WIDTH + 4} ${HEIGHT + 8}`, preserveAspectRatio: "none", role: "img", "aria-label": words(seen) });
  const average = (seen.band ?? []).map((value) => value / day.length);
  const top = Math.max(...day) * 1.25;
  const low = seen.line ? Math.max(Math.min(0, ...seen.line), -top) : 0;
  const high = seen.line ? Math.min(Math.max(top, ...seen.line), 3 * top) : top;
  const y = (value) => HEIGHT * (1 - (Math.min(Math.max(value, low), high) - low) / (high - low));
  const points = (values) => values.map((value, k) => `${((k * WIDTH) / (values.length - 1)).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  drawn.append(svg("line", { class: "zero", x1: 0, x2: WIDTH, y1: y(0), y2: y(0) }));
  if (seen.band) {
    const [from, to] = [y(average[1]), y(average[0])];
    drawn.append(svg("rect", { class: "band", x: 0, width: WIDTH, y: from, height: Math.max(to - from, 2) }));
  }
  drawn.append(svg("polyline", { class: "true", points: points(day) }));
  if (seen.line) drawn.append(svg("polyline", { class: "seen", points: points(seen.line) }));
  return drawn;
}

function words(seen) {
  if (seen.split) return "A day: nobody sees anything of it alone";
  return seen.band ? "A day, and the range in which its average is reported" : "A day, and as it is reported";
}

const told = (seen) => (seen.split ? "Only the total of everybody is seen." : seen.band ? "One number a day is reported." : "Every reading is reported.");

/** The card's element. `remove` is called if the setting is unpinned; levels and paper settings stay. */
export function cardOf(card, remove) {
  const made = document.createElement("article");
  made.className = `card ${card.layer}`;
  const head = document.createElement("h3");
  head.textContent = card.id ?? "Pinned";
  const code = document.createElement("code");
  code.textContent = card.setting;
  head.append(" ", code);
  const facts = document.createElement("dl");
  for (const [name, value] of card.facts) {
    const row = document.createElement("div");
    row.append(Object.assign(document.createElement("dt"), { textContent: name }));
    row.append(Object.assign(document.createElement("dd"), { textContent: value }));
    facts.append(row);
  }
  const note = document.createElement("p");
  note.className = "hint";
  note.textContent = card.refused ? "Devices refuse this setting." : told(card.seen);
  made.append(head, picture(card.day, card.seen), note, facts);
  if (remove) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Unpin";
    button.setAttribute("aria-label", `Unpin ${card.setting}`);
    button.addEventListener("click", remove);
    made.append(button);
  }
  return made;
}
