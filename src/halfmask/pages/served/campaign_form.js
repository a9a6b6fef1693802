// A new campaign from an offer file: the form checks itself at the service, and shows what producers will see.
import { ask, ServiceError } from "./page_device.js";
import { instantOf } from "./calendar.js";
import { Curve } from "./curve.js";
import { verdict } from "./level_choice.js";
import { example, Preview } from "./preview.js";
import { Words } from "./words.js";

const at = (id) => document.getElementById(id);
const WAIT = 300;
const PERIODS = { "15m": "quarter_hour", "30m": "half_hour" };
/** Name, label, kind, first value. */
const FIELDS = [
  ["name", "Name", "text", ""], ["purpose", "What for; producers read it", "text", ""],
  ["begins", "First day", "date", ""], ["ends", "Ends before", "date", ""], ["time_zone", "Time zone", "text", Intl.DateTimeFormat().resolvedOptions().timeZone],
  ["period", "A total covers", "select", "day"], ["unit", "Unit", "text", ""], ["step", "Step", "text", ""], ["low", "Least value", "text", ""], ["high", "Largest value", "text", ""],
  ["readings_expected", "Readings of a device in a period", "number", ""], ["least_producers", "Publish totals from so many producers", "number", 20],
  ["currency", "Currency, and its parts", "text", "EUR/1000"], ["budget", "Budget, in parts", "number", 0]
];
const MORE = [
  ["grace_minutes", "Minutes that late reports are taken", "number", 60], ["every_minutes", "Count the first report of every so many minutes", "number", ""],
  ["most_per_period", "Most that one producer earns in a period, in parts", "number", ""], ["groups", "Groups that get totals too, with commas between", "text", ""],
  ["one", "A producer is called", "text", "home"], ["many", "Several are called", "text", "homes"],
  ["live", "Show open periods too", "checkbox", false], ["invited", "Only by invitation", "checkbox", false], ["kept", "Keep masked reports after their period", "checkbox", false]
];
/** For an offer with a level that splits totals between two services. */
const SPLIT_FIELDS = [["helper", "Address of the second service", "url"], ["helper_token", "Your token as a consumer there", "password"]];
/** May stay empty. */
const OPTIONAL = ["readings_expected", "every_minutes", "most_per_period", "groups"];
/** The inputs that a field of a campaign is made of, if they have other names. */
const INPUTS = { lattice: ["step", "low", "high"], join: ["invited"], nouns: ["one", "many"], keep_reports: ["kept"], split: ["helper", "helper_token"] };
const KINDS = ["quarter_hour", "half_hour", "hour", "day", "week", "month", "year"];

export class Maker {
  constructor(made) {
    Object.assign(this, { made, offer: null });
    at("make-fields").replaceChildren(...FIELDS.map((each) => field(...each)));
    at("make-more").replaceChildren(...MORE.map((each) => field(...each)));
    at("offer").addEventListener("change", (event) => this.read(event.target.files[0]));
    at("make").addEventListener("input", () => this.soon());
    at("make").addEventListener("submit", (event) => {
      event.preventDefault();
      this.post();
    });
  }
  async read(file) {
    if (!file) return;
    try {
      this.offer = JSON.parse(await file.text());
      if (!Array.isArray(this.offer.settings)) throw new SyntaxError("settings");
    } catch {
      this.offer = null;
      at("offer-told").textContent = "This file is not an offer: it is the JSON that 'halfmask offer' writes.";
      return;
    }
    const asked = this.offer.question ?? {}, total = this.release === "total";
    const stated = { unit: asked.unit, step: asked.step, ...(total && { low: asked.low, high: asked.high, period: PERIODS[asked.period] ?? asked.period }), ...(asked.readings > 1 && { readings_expected: asked.readings }) };
    for (const [name, value] of Object.entries(stated)) {
      if (value === undefined || value === null || value === "") continue;
      input(name).value = String(value);
      input(name).readOnly = true;
      if (name === "period") input(name).disabled = true;
    }
    at("offer-told").textContent = `${this.offer.settings.length} levels.`;
    for (const old of at("make-fields").querySelectorAll(".of-offer")) old.remove();
    const asks = [...(this.splits ? SPLIT_FIELDS : []), ...this.offer.settings.map(({ id }) => [`reward-${id}`, `Reward of a report by ${id}, in parts`, "number", 0])];
    at("make-fields").append(...asks.map((each) => {
      const made = field(...each);
      made.classList.add("of-offer");
      return made;
    }));
    this.soon();
  }
  get release() {
    const [first] = this.offer?.settings ?? [];
    return /@(total|split)$/.test(first?.setting ?? "") ? "total" : "reading";
  }
  get splits() {
    return this.offer.settings.some(({ setting }) => /@split$/.test(setting));
  }
  get campaign() {
    const text = (name) => input(name).value.trim(), whole = (name) => (text(name) === "" ? null : Number(text(name)));
    const midnight = (name) => {
      const parts = text(name).split("-").map(Number);
      if (parts.length !== 3) return "";
      try {
        return new Date(instantOf(parts, text("time_zone"))).toISOString().replace(".000", "");
      } catch {
        return "";
      }
    };
    const rewards = Object.fromEntries((this.offer?.settings ?? []).map(({ id }) => [id, whole(`reward-${id}`) ?? 0]));
    return {
      name: text("name"), purpose: text("purpose"), unit: text("unit"), lattice: { step: text("step"), low: text("low"), high: text("high") },
      period: text("period"), time_zone: text("time_zone"), begins: midnight("begins"), ends: midnight("ends"), grace_minutes: whole("grace_minutes"),
      menu: this.offer, release: this.release, readings_expected: whole("readings_expected"), least_producers: whole("least_producers"),
      rewards, currency: text("currency"), nouns: { one: text("one"), many: text("many") }, budget: whole("budget") ?? 0, live: input("live").checked, join: input("invited").checked ? "invitation" : "open",
      keep_reports: input("kept").checked ? "always" : "until_closed", every_minutes: whole("every_minutes"), most_per_period: whole("most_per_period"),
      groups: text("groups").split(",").map((each) => each.trim()).filter(Boolean), ...(this.splits && { split: { helper: text("helper"), token: text("helper_token") } })
    };
  }
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), WAIT);
  }
  async check() {
    if (!this.offer) return this.say("Choose an offer first.");
    const empty = [...FIELDS, ...MORE].find(([name, , kind]) => kind !== "checkbox" && !OPTIONAL.includes(name) && input(name).value === "");
    if (empty) return this.say(`${empty[1]}: not filled in yet.`);
    try {
      const { refused, terms, ...promises } = await ask("POST", "/v1/campaigns/check", { body: this.campaign });
      if (refused) return this.say(refused.message, refused.field);
      this.say("Everything fits.", "", true);
      await this.preview(terms, promises);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.say(error.message, error.field);
    }
  }
  say(message, place = "", fits = false) {
    at("make-told").textContent = message;
    at("post").disabled = !fits;
    if (!fits) at("preview").hidden = true;
    const named = place.split(/[.[]/)[0], wrong = INPUTS[named] ?? [named];
    for (const each of at("make").querySelectorAll(".fields :is(input, select)")) each.setAttribute("aria-invalid", String(wrong.includes(each.name)));
    if (at("make-more").querySelector("[aria-invalid=true]")) at("make-more").parentElement.open = true;
  }
  /** Draw each level as producers will see it. */
  async preview(terms, promises) {
    this.words ??= await Words.load(["en"]);
    const words = this.words.with({ day: terms.release === "total" ? "month" : "day" }), shown = new Preview(terms), readings = example(terms, promises);
    at("preview").hidden = false;
    at("seen-by-producers").replaceChildren(...promises.levels.map((level) => {
      const box = document.createElement("section"), head = document.createElement("h4"), said = document.createElement("p");
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      box.className = "level";
      head.textContent = words.levelName(level);
      const chance = level.odds.day === null || level.against === "nobody" ? "" : ` From one day a perfect guesser is right ${words.odds(level.odds.day)}.`;
      const pay = level.month_reward ? ` It earns ${words.say("earns_month", { amount: words.money(level.month_reward, terms.currency) })}.` : "";
      said.textContent = `${words.say(verdict(level)[0])}${chance}${pay}`;
      svg.setAttribute("aria-hidden", "true");
      box.append(head, svg, said);
      requestAnimationFrame(() => new Curve(svg, { yours: words.say("yours"), theirs: words.say("theirs"), same: words.say("same"), nothing: words.say("nothing_of_yours") })
        .draw(readings.map((each) => Number(each.value)), shown.seen(level.setting, readings), [], { share: level.against === "one_service", open: level.against === "nobody" }));
      return box;
    }));
  }
  async post() {
    try {
      const { campaign } = await ask("POST", "/v1/campaigns", { body: this.campaign });
      this.made(campaign);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.say(error.message, error.field);
    }
  }
}

const input = (name) => document.querySelector(`#make .fields [name="${name}"]`);

function field(name, label, kind, value = "") {
  const made = document.createElement("p"), words = document.createElement("label"), own = document.createElement(kind === "select" ? "select" : "input");
  Object.assign(own, { id: `make-${name}`, name });
  if (kind === "select") own.replaceChildren(...KINDS.map((each) => new Option(each.replace("_", " "), each)));
  else own.type = kind;
  if (kind === "password") own.autocomplete = "off";
  if (kind === "checkbox") own.checked = value;
  else own.value = value;
  Object.assign(words, { htmlFor: own.id, textContent: label });
  made.classList.toggle("tick", kind === "checkbox");
  made.append(words, own);
  return made;
}
