// What if rewards change: predicted shares, accuracy and cost, before other rewards are published.
import { ask, ServiceError } from "./page_device.js";

const at = (id) => document.getElementById(id);
const WAIT = 250;

export class Rewards {
  constructor(watch) {
    this.watch = watch;
    at("rewards").addEventListener("submit", (event) => {
      event.preventDefault();
      this.publish();
    });
    at("what-if").addEventListener("toggle", () => at("what-if").open && this.ask());
  }
  get campaign() {
    return this.watch.campaign;
  }
  get rewards() {
    return Object.fromEntries([...document.querySelectorAll("#reward-fields input")].map((each) => [each.dataset.level, Math.max(0, Math.round(Number(each.value) || 0))]));
  }
  /** Fill the form with today's rewards, and the periods from which others may apply. */
  open() {
    const { rewards, later_rewards: later, menu, currency } = this.campaign, now = later?.at(-1)?.rewards ?? rewards;
    at("what-if").hidden = !this.campaign.budget;
    at("reward-fields").replaceChildren(...menu.settings.map(({ id, name }) => {
      const field = document.createElement("p"), label = document.createElement("label"), input = document.createElement("input");
      Object.assign(input, { id: `reward-${id}`, type: "number", min: 0, step: 1, value: now[id] ?? 0 });
      input.dataset.level = id;
      input.addEventListener("input", () => this.soon());
      Object.assign(label, { htmlFor: input.id, textContent: `${[id, name].filter(Boolean).join(": ")} (${currency} per report)` });
      field.append(label, input);
      return field;
    }));
    at("from").replaceChildren(...nextPeriods(this.campaign).map((each) => new Option(each, each)));
    at("publish").disabled = !at("from").options.length;
    at("forecast").textContent = "";
  }
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), WAIT);
  }
  async ask() {
    try {
      const found = await ask("GET", `/v1/campaigns/${this.campaign.campaign}/rewards/forecast?rewards=${encodeURIComponent(JSON.stringify(this.rewards))}`);
      at("forecast").textContent = this.said(found);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      at("forecast").textContent = error.message;
    }
  }
  said({ basis, shares, producers, error, cost }) {
    if (basis === "nothing") return "No closed period has a total yet, so nothing can be predicted.";
    const write = (value) => new Intl.NumberFormat("en", { maximumSignificantDigits: 3 }).format(value);
    const split = Object.entries(shares).map(([id, share]) => `${id} ${write(100 * share)} %`).join(", ");
    const from = basis === "observed" ? "As producers chose under earlier rewards: " : "Choices so far do not show what rewards do. If nobody changes its level: ";
    return `${from}${split}; ${write(Math.round(producers))} producers, error ± ${error === null ? "-" : write(196 * error)} %, ${money(cost, this.campaign.currency)} a period.`;
  }
  async publish() {
    try {
      await ask("PUT", `/v1/campaigns/${this.campaign.campaign}/rewards`, { body: { rewards: this.rewards, from: at("from").value } });
      at("published").textContent = `Published: these rewards apply from ${at("from").value} on.`;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      at("published").textContent = error.message;
    }
  }
}

const money = (parts, currency) => {
  const [name, of = "1"] = currency.split("/");
  return `${(parts / Number(of)).toFixed(2)} ${name}`;
};

/** The names of some periods that have not begun. Only days, weeks, months and years are offered. */
function nextPeriods({ period, time_zone: zone, begins, ends }) {
  const days = { day: 1, week: 7, month: 31, year: 366 }[period];
  if (!days) return [];
  const found = new Set(), format = new Intl.DateTimeFormat("en-CA", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" });
  for (let k = 1; k <= 14; k++) {
    const instant = Math.max(Date.now(), Date.parse(begins)) + k * days * 86400000;
    if (instant >= Date.parse(ends)) break;
    const text = format.format(instant);
    found.add(period === "day" ? text : period === "month" ? text.slice(0, 7) : period === "year" ? text.slice(0, 4) : week(text));
  }
  return [...found];
}

/** ISO week of a date, like 2026-W47. */
function week(text) {
  const day = new Date(`${text}T00:00:00Z`), thursday = new Date(day.getTime() + (3 - ((day.getUTCDay() + 6) % 7)) * 86400000);
  const first = Date.UTC(thursday.getUTCFullYear(), 0, 4), monday = first - ((new Date(first).getUTCDay() + 6) % 7) * 86400000;
  return `${thursday.getUTCFullYear()}-W${String(1 + Math.floor((thursday.getTime() - monday) / 604800000)).padStart(2, "0")}`;
}
