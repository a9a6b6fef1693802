// The choice: one curve, one slider, and what the chosen level promises and pays.
import { byDay } from "./readings_file.js";
import { periodOf } from "./calendar.js";
import { Curve, element } from "./curve.js";
import { example, Preview } from "./preview.js";

const at = (id) => document.getElementById(id);
/** A level does not hide a day if a guess from it is right more often than this. */
const SURE = 0.75;

/** Names of the words about what a level does for a day. */
export function verdict(level) {
  if (level.against === "nobody") return ["open_warning"];
  if (!level.hides_day) return ["hides_not", "hides_not_more"];
  return level.odds.day > SURE ? ["hides_partly", "hides_partly_more"] : ["hides", "hides_more"];
}

export class Choice {
  constructor(campaign, promises, words, root = at) {
    Object.assign(this, { campaign, promises, words, root, days: [], shown: 0 });
    this.preview = new Preview(campaign);
    this.example = example(campaign, promises);
    this.total = campaign.release === "total";
    const lines = { yours: words.say("yours"), theirs: words.say("theirs"), same: words.say("same"), nothing: words.say("nothing_of_yours") };
    this.curve = new Curve(root("curve"), lines);
    const slider = root("level");
    slider.max = promises.levels.length - 1;
    slider.value = Math.min(1, promises.levels.length - 1);
    slider.addEventListener("input", () => this.soon());
    root("before").addEventListener("click", () => this.turn(-1));
    root("after").addEventListener("click", () => this.turn(1));
    this.show();
  }
  get level() {
    return this.promises.levels[Number(this.root("level").value)];
  }
  get readings() {
    return this.days.length ? this.days[this.shown].readings : this.example;
  }
  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.show();
    });
  }
  turn(by) {
    this.shown = Math.max(0, Math.min(this.days.length - 1, this.shown + by));
    this.show();
  }
  /** Show one's own readings: one day at a time, or the totals of a month. */
  own(readings) {
    const days = byDay(readings, this.campaign.time_zone, periodOf);
    if (this.total) {
      const sums = days.map(({ begins, readings: own }) => ({ instant: begins, value: String(own.reduce((all, each) => all + Number(each.value), 0)) }));
      this.days = Array.from({ length: Math.ceil(sums.length / 31) }, (_, k) => ({ begins: sums[31 * k].instant, readings: sums.slice(31 * k, 31 * k + 31) }));
    } else this.days = days.filter((each) => each.readings.length > 1);
    this.shown = this.days.length - 1;
    this.show();
  }
  show() {
    const { level, readings, words } = this, share = level.against === "one_service";
    const day = readings.map((each) => Number(each.value)), seen = this.preview.seen(level.setting, readings);
    this.curve.draw(day, seen, this.marks(), { share, open: level.against === "nobody" });
    this.root("level-name").textContent = words.levelName(level);
    this.root("level").setAttribute("aria-valuetext", this.root("level-name").textContent);
    this.verdict(level);
    this.odds(level);
    this.root("earns").textContent = this.pay(level);
    this.root("against").textContent = words.say(`against_${level.against}`);
    this.root("exact").textContent = this.promise(level);
    this.root("never").textContent = words.say("promise_not", { least: this.campaign.least_producers });
    this.root("about-curve").textContent = words.say(this.days.length ? "example_own" : "example");
    document.querySelector(".days").hidden = this.days.length < 2;
    this.root("which-day").textContent = this.days.length ? words.date(this.days[this.shown].begins, this.campaign.time_zone) : "";
    this.changed?.(level);
  }
  marks() {
    if (!this.total) return ["0:00", "6:00", "12:00", "18:00", "24:00"];
    const [first, last] = [this.readings[0].instant, this.readings.at(-1).instant];
    return this.days.length ? [first, last].map((each) => this.words.date(each, this.campaign.time_zone)) : ["1", "8", "15", "22", "30"];
  }
  verdict(level) {
    const place = this.root("hides"), { words } = this;
    const said = verdict(level);
    const more = document.createElement("small");
    more.textContent = said[1] && !(this.total && said[1] === "hides_not_more") ? words.say(said[1]) : "";
    place.replaceChildren(words.say(said[0]), more);
    place.classList.toggle("no", !level.hides_day);
  }
  odds(level) {
    const { words, promises } = this, unit = this.campaign.unit;
    this.root("guesser").textContent = words.say(this.total ? "guesser_total" : "guesser", { change: `${words.number(promises.change, 6)} ${unit}` });
    const rows = ["one", "day", "month"].filter((each) => each !== "one" || level.reports.day !== 1);
    this.root("odds").tBodies[0].replaceChildren(...rows.map((each) => this.row(level, each)));
  }
  row(level, window) {
    const row = document.createElement("tr"), head = document.createElement("th"), said = document.createElement("td"), drawn = document.createElement("td");
    const chance = level.against === "nobody" ? 1 : level.odds[window];
    head.scope = "row";
    const minutes = window === "one" && this.campaign.every_minutes;
    head.textContent = minutes ? this.words.say("from_minutes", { minutes }) : this.words.say(`from_${window}`);
    said.className = chance === null ? "" : "times";
    said.textContent = chance === null ? this.words.say("not_known") : this.words.odds(chance);
    if (chance !== null) drawn.append(bar(chance));
    row.append(head, said, drawn);
    return row;
  }
  pay(level) {
    const { words, campaign } = this;
    if (!level.reward) return words.say("earns_nothing");
    return level.month_reward === null
      ? words.say("earns_report", { amount: words.money(level.reward, campaign.currency) })
      : words.say("earns_month", { amount: words.money(level.month_reward, campaign.currency) });
  }
  promise(level) {
    const { words, campaign, promises } = this;
    if (level.against === "nobody") return words.say("promise_exact_none", { setting: level.setting });
    const written = (epsilon) => (epsilon === null ? words.say("none_finite") : words.number(Math.ceil(epsilon * 1000) / 1000, 4));
    const exact = Object.fromEntries(Object.entries(campaign.lattice).map(([name, text]) => [name, words.number(Number(text), 15)]));
    return words.say("promise_exact", {
      setting: level.setting, ...exact, unit: campaign.unit, delta: promises.delta,
      change: `${words.number(promises.change, 6)} ${campaign.unit}`, day: written(level.epsilon.day), month: written(level.epsilon.month)
    });
  }
  what() {
    const { words, campaign } = this, period = words.say(`period_${campaign.period}`);
    if (this.total) return words.say("what_total", { period });
    const every = campaign.every_minutes ? words.say("every_minutes", { minutes: campaign.every_minutes }) : words.say("every_reading");
    return words.say("what_reading", { every });
  }
}

/** A bar from 0 to 100 with the coin's half apart. */
function bar(chance) {
  const svg = element("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(
    element("rect", { class: "bar-base", width: 100, height: 10 }),
    element("rect", { class: "bar-coin", width: 50, height: 10 }),
    element("rect", { class: `bar-over${chance > 0.9 ? " much" : ""}`, x: 50, width: Math.max(0, 100 * chance - 50), height: 10 })
  );
  return svg;
}
