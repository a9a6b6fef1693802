// The consumer's page: totals with their bands, live; producers by level; money; what to look at.
import { element } from "./curve.js";
import { drawTotals } from "./totals_chart.js";
import { ask, ServiceError } from "./page_device.js";
import { Maker } from "./campaign_form.js";
import { Rewards } from "./rewards_form.js";
import { Words } from "./words.js";

const at = (id) => document.getElementById(id);
const words = new Words({ locale: "en" });
const SHOWN = 366;
/** Share of reports at an end of the range that is worth a look; noise alone puts some there. */
const AT_BOUNDS = 0.2;
const number = (value, digits = 4) => words.number(value, digits);
const money = (parts, currency) => words.money(parts, currency);
const withUnit = (value, unit) => `${number(value)} ${unit}`;
const band = (found) => `${number(found.low)} to ${number(found.high)}`;

export class Watch {
  constructor() {
    this.entries = new Map();
    at("sign-in").addEventListener("submit", (event) => {
      event.preventDefault();
      this.attempt(() => this.signIn());
    });
    at("sign-out").addEventListener("click", () => this.attempt(() => this.signOut()));
    at("campaigns").addEventListener("change", () => this.attempt(() => this.open(at("campaigns").value)));
    at("smoothed").addEventListener("change", () => this.show());
    at("group").addEventListener("change", () => this.attempt(() => this.refresh()));
    at("copy").addEventListener("click", async () => {
      await navigator.clipboard.writeText(at("call").textContent);
      at("copied").textContent = "Copied.";
    });
    new ResizeObserver(() => this.entries.size && this.draw()).observe(at("totals"));
    this.rewards = new Rewards(this);
    this.maker = new Maker((campaign) => this.attempt(() => this.begin(campaign)));
    at("new").addEventListener("click", () => this.make(true));
    at("back").addEventListener("click", () => this.make(false));
  }
  async attempt(work) {
    at("trouble").hidden = true;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.status === 401) return this.signedOut();
      at("trouble").textContent = error.status ? error.message : "The service does not answer. Load this page again.";
      at("trouble").hidden = false;
    }
  }
  signedOut() {
    this.stream?.close();
    for (const id of ["seen", "maker", "campaigns", "sign-out", "new", "live"]) at(id).hidden = true;
    at("sign-in").hidden = false;
  }
  async signIn() {
    if (!window.isSecureContext) throw new ServiceError(1, { message: "This connection is not secure: others could read your token. Open this page by https://." });
    const token = at("token").value.trim();
    at("token").value = "";
    try {
      await ask("POST", "/session", { body: { token } });
    } catch (error) {
      if (error.status === 401 || error.status === 403) error = new ServiceError(1, { message: "This token is not a consumer's, or is no longer valid." });
      throw error;
    }
    at("sign-in").hidden = true;
    await this.begin();
  }
  async signOut() {
    await ask("DELETE", "/session");
    this.signedOut();
  }
  async begin(wanted = new URLSearchParams(location.search).get("campaign")) {
    const { campaigns } = await ask("GET", "/session");
    if (!campaigns) return this.signedOut();
    const offers = await Promise.all(campaigns.map((each) => ask("GET", `/v1/campaigns/${each}`)));
    at("campaigns").replaceChildren(...offers.map((each) => new Option(each.name, each.campaign)));
    at("campaigns").hidden = offers.length < 2;
    at("sign-out").hidden = at("new").hidden = false;
    if (!offers.length) return this.make(true);
    const chosen = campaigns.includes(wanted) ? wanted : campaigns.at(-1);
    at("campaigns").value = chosen;
    await this.open(chosen);
  }
  make(shown) {
    at("maker").hidden = !shown;
    at("seen").hidden = shown || !this.campaign;
    at("back").hidden = !this.campaign;
    if (shown) at("maker-title").focus();
  }
  async open(id) {
    this.stream?.close();
    this.entries.clear();
    this.campaign = await ask("GET", `/v1/campaigns/${id}`);
    history.replaceState(null, "", `/watch?campaign=${id}`);
    const { name, purpose, groups, split } = this.campaign;
    at("name").textContent = name;
    at("purpose").textContent = purpose;
    document.title = name;
    for (const kind of ["csv", "parquet"]) at(kind).href = `/v1/campaigns/${id}/periods.${kind}`;
    at("call").textContent = `curl -H "Authorization: Bearer $HALFMASK_TOKEN" "${location.origin}/v1/campaigns/${id}/periods"`;
    at("of-group").hidden = at("by-group").hidden = !groups.length;
    at("group").replaceChildren(new Option("everybody", ""), ...groups.map((each) => new Option(each, each)));
    await this.refresh();
    at("unready").hidden = !split || Boolean(split.campaign);
    at("unready").textContent = split?.refused ? `The second service refuses this campaign, so nobody can join: ${split.refused}` : "The second service has not agreed to this campaign yet. Nobody can join before; load this page again in a while.";
    this.make(false);
    this.draw();
    this.rewards.open();
    this.listen(id);
  }
  async refresh() {
    const path = `/v1/campaigns/${this.campaign.campaign}`, group = at("group").value;
    const [{ periods }, standing] = await Promise.all([ask("GET", `${path}/periods`), ask("GET", `${path}/standing`)]);
    this.ofGroup = group ? new Map((await ask("GET", `${path}/periods?group=${encodeURIComponent(group)}`)).periods.map((each) => [each.period, each.groups?.[group]])) : null;
    for (const each of periods) this.entries.set(each.period, each);
    this.standing = standing;
    this.show();
  }
  listen(id) {
    this.stream = new EventSource(`/v1/campaigns/${id}/stream`);
    const noted = () => {
      this.updated = new Date();
      at("live").hidden = false;
      at("live").textContent = "live";
      at("live").classList.remove("lost");
    };
    this.stream.onopen = noted;
    this.stream.addEventListener("period", (event) => {
      const entry = JSON.parse(event.data);
      this.entries.set(entry.period, { ...this.entries.get(entry.period), ...entry });
      noted();
      this.later ??= setTimeout(() => {
        this.later = null;
        this.attempt(() => this.refresh());
      }, 300);
    });
    this.stream.onerror = () => {
      const when = this.updated ? `, last update ${this.updated.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}` : "";
      at("live").hidden = false;
      at("live").textContent = `connection lost${when}`;
      at("live").classList.add("lost");
      if (this.stream.readyState === EventSource.CLOSED) setTimeout(() => this.attempt(() => this.open(id)), 5000);
    };
  }
  get all() {
    return [...this.entries.values()].sort((a, b) => (a.period < b.period ? -1 : 1)).slice(-SHOWN);
  }
  /** The periods that are drawn: of everybody, or of the chosen group. */
  get listed() {
    if (!this.ofGroup) return this.all;
    return this.all.map((each) => ({ period: each.period, state: each.state, sum: null, withheld: each.withheld, ...this.ofGroup.get(each.period) }));
  }
  get last() {
    return this.all.findLast((each) => each.sum);
  }
  show() {
    this.today();
    this.draw();
    this.table();
    this.levels();
    this.groups();
    this.money();
    this.care();
  }
  today() {
    const { unit, least_producers: least, live } = this.campaign, entry = this.all.at(-1);
    const { last } = this, few = this.standing.joined < least, now = entry && entry.state !== "closed";
    const found = entry?.sum ?? last?.sum, of = entry?.sum ? entry : last;
    at("today-title").textContent = !last || (now && entry.sum) ? "Today so far" : "The last total";
    at("today").textContent = found ? withUnit(found.estimate, unit) : few ? `${this.standing.joined} of ${least}. Totals appear at ${least}.` : "No total yet.";
    if (found) at("today-more").textContent = `${of.period}: ${band(found)} ${unit} holds the truth in 95 of 100 periods; ${number(of.producers)} producers.${of === entry ? "" : ` ${entry.period} is ${entry.state === "closing" ? "being closed" : "still open"}.`}`;
    else if (few) at("today-more").textContent = `A total of fewer than ${least} would say too much about each.`;
    else if (entry && entry.state !== "closed") at("today-more").textContent = live ? `${entry.period} is open: it is shown from ${least} producers on.` : `${entry.period} is ${entry.state}. Its total appears when it is closed.`;
    else at("today-more").textContent = entry ? `${entry.period}: ${entry.withheld ?? "no reports"}.` : "The campaign has not begun.";
  }
  draw() {
    const smoothed = at("smoothed").checked, entries = this.listed;
    drawTotals(at("totals"), entries, { smoothed, write: (value) => number(value, 3) });
    const open = entries.some((each) => each.state !== "closed"), gaps = entries.some((each) => !each.sum && each.state === "closed");
    at("totals-caption").textContent = `${smoothed ? "Smoothed totals" : "Totals"} in ${this.campaign.unit}; the band holds the truth in 95 of 100 periods.${open ? " Hatched: still open." : ""}${gaps ? " Grey: withheld or without reports." : ""}`;
    at("totals").toggleAttribute("hidden", !entries.some((each) => each.sum));
  }
  table() {
    const smoothed = at("smoothed").checked, rows = [];
    for (const each of [...this.listed].reverse()) {
      const found = (smoothed && each.smoothed) || each.sum, why = each.sum ? "" : each.withheld ?? "no reports";
      if (!found && rows.at(-1)?.why === why) rows.at(-1).first = each.period;
      else rows.push({ first: each.period, last: each.period, found, why, each });
    }
    at("periods").tBodies[0].replaceChildren(...rows.map((row) => this.row(row)));
  }
  /** A row of a table of totals, with their accuracy if wanted. */
  row({ first, last, found, why, each }, accurate = true) {
    const made = document.createElement("tr"), head = cell("th", "");
    head.append(cell("span", first), ...(first === last ? [] : [" to ", cell("span", last)]));
    head.scope = "row";
    if (!found) {
      const rest = cell("td", each.state !== "closed" ? `${each.state}${why === each.state ? "" : `: ${why} so far`}` : why === "no reports" ? why : `withheld: ${why}`);
      rest.colSpan = 3 + accurate;
      rest.className = "quiet";
      made.append(head, rest);
      return made;
    }
    const accuracy = found.estimate ? `± ${number((50 * (found.high - found.low)) / Math.abs(found.estimate), 2)} %` : "-";
    made.append(head, ...[`${number(found.estimate)}${each.state === "closed" ? "" : " (open)"}`, band(found), ...(accurate ? [accuracy] : []), number(each.producers)].map((text) => cell("td", text, "number")));
    return made;
  }
  levels() {
    const { last } = this, { settings } = this.campaign.menu, body = at("levels").tBodies[0];
    if (!last?.settings) return body.replaceChildren(cells("td", ["Producers are counted by level when a period is closed with enough of them."]));
    const most = Math.max(...settings.map((each) => last.settings[each.id]?.producers ?? 0), 1);
    body.replaceChildren(...settings.map((each) => {
      const count = last.settings[each.id]?.producers ?? 0, row = document.createElement("tr"), drawn = document.createElement("td");
      const head = cell("th", [each.id, each.name].filter(Boolean).join(": "));
      head.scope = "row";
      const svg = element("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
      svg.append(element("rect", { class: "bar-base", width: 100, height: 10 }), element("rect", { class: "bar-over", width: (100 * count) / most, height: 10 }));
      drawn.className = "share";
      drawn.append(svg);
      row.append(head, cell("td", number(count), "number"), drawn);
      return row;
    }));
  }
  groups() {
    const { last } = this, { unit, groups } = this.campaign;
    at("groups-told").textContent = last?.groups ? `${last.period}, in ${unit}.` : "Groups are shown when a period is closed with enough producers.";
    at("groups").tBodies[0].replaceChildren(...(last?.groups ? groups : []).map((name) => this.row({ first: name, last: name, found: last.groups[name].sum, why: last.groups[name].withheld ?? "no reports", each: last.groups[name] }, false)));
  }
  money() {
    const { currency, budget } = this.campaign, { earned, expected, by_period: by } = this.standing;
    const paid = Object.keys(by).sort().slice(-7).map((each) => by[each]), rate = paid.length ? paid.reduce((a, b) => a + b, 0) / paid.length : 0;
    const left = budget - earned - expected, lasts = rate > 0 ? `${number(Math.floor(left / rate))} more periods` : "-";
    const tiles = [["Spent", money(earned, currency)], ["Expected, not yet earned", money(expected, currency)], ["Left", money(left, currency)], ["At this rate it lasts", lasts]];
    at("money").replaceChildren(...tiles.map(([name, value]) => {
      const box = document.createElement("div");
      box.append(cell("dt", name), cell("dd", value));
      return box;
    }));
    if (!budget) at("money").replaceChildren(cells("dt", ["This campaign pays nothing."]));
  }
  care() {
    const { refused } = this.standing, { last } = this, { unit, lattice } = this.campaign;
    const said = Object.entries(refused).map(([code, count]) => `${REASONS[code] ?? code}: ${number(count)}`);
    at("refused").replaceChildren(...(said.length ? said : ["None since the service started."]).map((text) => cell("li", text)));
    const { trimmed, at_bounds: ends, influence } = last ?? {}, asks = [];
    if (trimmed) asks.push(`${last.period}: some producers' sums are too extreme to belong to the others'. Without the ${number(trimmed.left_out)} most extreme the total is ${withUnit(trimmed.estimate, unit)} (${band(trimmed)}). 'halfmask suspects' lists whom to ask.`);
    if (ends && Math.max(ends.low, ends.high) >= AT_BOUNDS) asks.push(`${last.period}: ${number(100 * ends.low, 2)} % of reports lie at or below ${lattice.low} ${unit}, ${number(100 * ends.high, 2)} % at or above ${lattice.high} ${unit}.`);
    at("suspects").replaceChildren(...(asks.length ? asks : ["Nobody in the last closed period. An extreme sum is a reason to ask, never to exclude."]).map((text) => cell("li", text)));
    const reach = Number(lattice.high) - Number(lattice.low), most = influence?.[1] ?? reach * (last ? last.reports / last.producers : 1);
    const share = last?.sum?.estimate ? `, ${number((100 * most) / Math.abs(last.sum.estimate), 2)} % of the last total` : "";
    const ten = influence?.[10] ? ` Ten can move it by ${number(influence[10], 3)} ${unit}.` : "";
    at("influence").textContent = `With reports that the service takes, one producer can move a total by at most ${number(most, 3)} ${unit}${share}.${ten}`;
  }
}

const REASONS = {
  closed: "After their period was closed", conflict: "Different from an earlier report of the same time", future: "Of a time to come",
  outside_campaign: "Of a time outside of the campaign", unknown_setting: "Of a level that the menu does not have",
  implausible: "Further out than the noise reaches", malformed: "Could not be read"
};
const cell = (name, text, kind = "") => Object.assign(document.createElement(name), { textContent: text, className: kind });
const cells = (name, texts) => {
  const row = document.createElement(name === "td" ? "tr" : "div");
  row.append(...texts.map((text) => cell(name, text)));
  return row;
};

const watch = new Watch();
await watch.attempt(() => watch.begin());
