// The demo: at home one drags the slider, at the utility a thousand simulated homes arrive.
import { Choice } from "./level_choice.js";
import { drawArrivals } from "./arrival_chart.js";
import { ask, ServiceError } from "./page_device.js";
import { Words } from "./words.js";

const at = (id) => document.getElementById(id);
const AGAIN = 250;
const number = (value, digits = 4) => words.number(value, digits);
let words = await Words.load(["en"]);
let levels = [];

async function openChoice(id) {
  const campaign = await ask("GET", `/v1/campaigns/${id}`), promises = await ask("GET", `/v1/campaigns/${id}/levels`);
  words = words.with({ one: words.say("one"), many: words.say("many"), day: words.say("month_days"), period: words.say("period_day") });
  words.fill(document);
  at("choice").hidden = false;
  levels = promises.levels;
  new Choice(campaign, promises, words);
}

function show(state) {
  const { homes, plan, points, days, waiting, done, last } = state, now = points.at(-1);
  drawArrivals(at("arrivals"), state);
  if (now) {
    const { found, arrived, day } = now;
    at("now").textContent = found ? `${number(found.estimate)} kWh per home` : `${number(arrived)} homes`;
    at("more").textContent = found
      ? `${plan[day].title}: 95 of 100 such bands, ${number(found.low, 3)} to ${number(found.high, 3)}, hold the truth of ${number(arrived)} homes.`
      : `${plan[day].title}: two services hold one share of each home. The total appears when the day is closed.`;
  }
  at("results").tBodies[0].replaceChildren(...days.map((each) => {
    const row = document.createElement("tr"), level = levels.find((one) => one.id === each.setting);
    const half = (homes * (each.found.high - each.found.low)) / 2;
    const texts = [each.title, `${number(homes * each.found.estimate)} ± ${number(half, 3)} kWh`, `${number(homes * each.truth)} kWh`, level ? words.odds(level.odds.day) : "-"];
    row.append(...texts.map((text, k) => Object.assign(document.createElement(k ? "td" : "th"), { textContent: text, className: k ? "number" : "" })));
    return row;
  }));
  at("on").hidden = !waiting;
  at("on").textContent = plan[days.length]?.title ?? "";
  at("last").textContent = done ? last : "";
}

/** `?side=phone` or `?side=utility` shows one side alone, for two windows or two screens. */
function showSide(side) {
  const sides = [...document.querySelectorAll(".window")], alone = sides.find((each) => each.classList.contains(side));
  if (!alone) return;
  for (const each of sides) each.hidden = each !== alone;
  alone.parentElement.classList.add("one");
}
showSide(new URLSearchParams(location.search).get("side"));
at("on").addEventListener("click", () => {
  at("on").hidden = true;
  ask("POST", "/demo/on", { body: {} });
});
let opened = false;
async function look() {
  let state = null;
  try {
    state = await ask("GET", "/demo/state");
    if (state.campaign && !opened) {
      opened = true;
      await openChoice(state.campaign);
    }
    show(state);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
  if (!state?.done) setTimeout(look, AGAIN);
}
await look();
