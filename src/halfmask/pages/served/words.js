// The words of a page: one file per language, with {gaps}. `{one}`, `{many}` are the campaign's nouns.
const LANGUAGES = ["en", "de"];

export class Words {
  constructor(texts, gaps = {}) {
    Object.assign(this, { texts, gaps });
  }
  /** The words of the first language that has a file, of those that the browser asks for; otherwise the English ones. */
  static async load(languages = navigator.languages) {
    const language = languages.map((each) => each.slice(0, 2)).find((each) => LANGUAGES.includes(each)) ?? "en";
    document.documentElement.lang = language;
    const answer = await fetch(`/pages/${language}.json`);
    return new Words(await answer.json());
  }
  with(gaps) {
    return new Words(this.texts, { ...this.gaps, ...gaps });
  }
  say(name, gaps = {}) {
    const text = this.texts[name];
    if (text === undefined) throw new RangeError(`no words for ${name}`);
    const filled = { ...this.gaps, ...gaps };
    return text.replaceAll(/\{(\w+)\}/g, (_, gap) => String(filled[gap] ?? ""));
  }
  /** A level's name, in this language if it is one that offers are made with. */
  levelName({ id, name }) {
    const known = this.texts[`name_${name?.replaceAll(" ", "_")}`];
    return [this.say("level", { id }), known ?? name].filter(Boolean).join(": ");
  }
  /** Why the service refused a report. */
  reason(code) {
    return this.texts[`refused_${code}`] ?? code;
  }
  /** Put words into all elements that name some. */
  fill(root) {
    for (const each of root.querySelectorAll("[data-words]")) each.textContent = this.say(each.dataset.words);
    for (const each of root.querySelectorAll("[data-label]")) each.setAttribute("aria-label", this.say(each.dataset.label));
  }
  number(value, digits = 3) {
    return new Intl.NumberFormat(this.texts.locale, { maximumSignificantDigits: Math.abs(value) >= 100 ? Math.max(digits, String(Math.trunc(Math.abs(value))).length) : digits }).format(value);
  }
  /** An amount of "EUR/1000": the currency, and into how many parts it is divided. */
  money(parts, currency) {
    const [name, of = "1"] = currency.split("/"), amount = parts / Number(of);
    try {
      return new Intl.NumberFormat(this.texts.locale, { style: "currency", currency: name, minimumFractionDigits: 2 }).format(amount);
    } catch {
      return `${this.number(amount)} ${name}`;
    }
  }
  date(instant, zone, options = { dateStyle: "medium" }) {
    return new Intl.DateTimeFormat(this.texts.locale, { ...options, timeZone: zone }).format(instant);
  }
  /** A chance as a whole number of right guesses of 100, never rounded down; of more if it is nearly certain. */
  odds(chance) {
    if (chance >= 1) return this.say("every_time");
    for (const of of [100, 1000, 10000]) {
      const right = Math.ceil(of * chance - 1e-9);
      if (right < of) return this.say("times", { right: this.number(right, 6), of: this.number(of, 6) });
    }
    return this.say("nearly_every_time");
  }
}
