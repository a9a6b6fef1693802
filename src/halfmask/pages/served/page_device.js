// The page as a device: its key and its unsent reports stay in the browser's own storage, raw readings nowhere.
import { Lattice, newChain, report } from "./device.js";
import { canonical, dayNumber, periodOf } from "./calendar.js";

const KEY = "halfmask";
const MOST = 500;
/** Share of a period's readings that a total needs. */
const COMPLETE = 0.9;
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

export class ServiceError extends Error {
  constructor(status, error) {
    super(error?.message ?? "the service did not answer");
    Object.assign(this, { status, code: error?.code ?? "", field: error?.field ?? "" });
  }
}

/** Ask the service. Throws a ServiceError with status 0 if it cannot be reached. */
export async function ask(method, path, { token = "", body, key = "" } = {}) {
  const headers = { ...(token && { Authorization: `Bearer ${token}` }), ...(body && { "Content-Type": "application/json" }), ...(key && { "Idempotency-Key": key }) };
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), credentials: "same-origin", cache: "no-store" });
  } catch {
    throw new ServiceError(0);
  }
  const plain = await answer.json().catch(() => null);
  if (!answer.ok) throw new ServiceError(answer.status, plain?.error);
  return plain;
}

export class PageDevice {
  /** `campaign` is the offer, as the service shows it. */
  constructor(campaign, storage = localStorage) {
    Object.assign(this, { campaign, storage });
    const { step, low, high } = campaign.lattice;
    this.lattice = new Lattice(step, low, high);
  }
  get all() {
    return JSON.parse(this.storage.getItem(KEY) ?? '{"campaigns":{}}');
  }
  keep(change) {
    const all = this.all;
    change(all);
    this.storage.setItem(KEY, JSON.stringify(all));
  }
  /** What is kept of this campaign: token, level, reports sent and waiting; null before joining. */
  get member() {
    return this.all.campaigns[this.campaign.campaign] ?? null;
  }
  update(change) {
    this.keep((all) => change(all.campaigns[this.campaign.campaign]));
  }
  remember(member) {
    this.keep((all) => (all.campaigns[this.campaign.campaign] = member));
  }
  forget() {
    this.keep((all) => delete all.campaigns[this.campaign.campaign]);
  }
  async join(setting, group = null, invitation = null) {
    const body = { setting, ...(group && { group }), ...(invitation && { invitation }) };
    const wanted = JSON.stringify([this.campaign.campaign, body]);
    if (this.all.joining?.wanted !== wanted) this.keep((all) => (all.joining = { wanted, key: hex(newChain()) }));
    const made = await ask("POST", `/v1/campaigns/${this.campaign.campaign}/producers`, { body, key: this.all.joining.key });
    this.keep((all) => delete all.joining);
    this.remember({ ...made, by: "page", setting, joined: Date.now(), waiting: [], sent: [] });
  }
  /** The key of a day, kept until no campaign takes reports of it. It serves all campaigns and joins: the same reading
   * always gets the same noise. */
  key(day, until) {
    this.keep((all) => {
      const keys = (all.keys ??= {});
      keys[day] = { key: keys[day]?.key ?? hex(newChain()), until: Math.max(keys[day]?.until ?? 0, until) };
    });
    return bytes(this.all.keys[day].key);
  }
  eraseKeys() {
    this.keep((all) => {
      for (const [day, { until }] of Object.entries(all.keys ?? {})) if (until < Date.now()) delete all.keys[day];
    });
  }
  /** Mask readings into reports that wait to be sent. Returns how many are new, and how many periods are incomplete. */
  mask(readings) {
    const { campaign, member } = this, now = Date.now();
    const setting = campaign.menu.settings.find((each) => each.id === member.setting).setting;
    const [begins, ends] = [campaign.begins, campaign.ends].map((text) => Date.parse(text));
    const known = new Set([...member.sent, ...member.waiting].map((each) => each.time));
    const values = campaign.release === "total" ? this.totals(readings, now) : { items: readings.map((each) => this.single(each)), short: 0 };
    const deadline = (instant) => periodOf(instant, campaign.period, campaign.time_zone)[1] + campaign.grace_minutes * 60000;
    const taken = (instant) => instant >= begins && instant < ends && instant <= now && now < deadline(instant);
    const fresh = values.items.filter(({ instant, time }) => taken(instant) && !known.has(time));
    const waiting = fresh.map(({ instant, time, spelled, steps }) => {
      const masked = report(setting, this.lattice, { time: spelled, key: this.key(dayNumber(instant), deadline(instant)), steps });
      return { time, steps: Number(masked), setting: member.setting };
    });
    this.update((own) => own.waiting.push(...waiting));
    return { masked: waiting.length, outside: values.items.length - fresh.length, short: values.short };
  }
  single({ instant, value }) {
    const time = canonical(instant);
    return { instant, time, spelled: time, steps: this.lattice.steps(value) };
  }
  totals(readings, now) {
    const periods = new Map();
    for (const each of readings) {
      const [begins, ends] = periodOf(each.instant, this.campaign.period, this.campaign.time_zone);
      if (!periods.has(begins)) periods.set(begins, { ends, values: [] });
      periods.get(begins).values.push(each.value);
    }
    const least = COMPLETE * (this.campaign.readings_expected ?? 1);
    const [items, whole] = [[], [...periods].filter(([, { ends, values }]) => ends <= now && values.length >= least)];
    for (const [begins, { ends, values }] of whole) {
      const time = canonical(begins);
      items.push({ instant: begins, time, spelled: `${time}/${canonical(ends)}`, steps: this.lattice.total(values) });
    }
    return { items, short: periods.size - whole.length };
  }
  /** Send what waits, in parts. Each report is kept until the service has answered about it. */
  async send() {
    while (this.member?.waiting.length) {
      const part = this.member.waiting.slice(0, MOST);
      const { results } = await ask("POST", "/v1/reports", { token: this.member.token, body: { reports: part } });
      this.update((own) => {
        own.waiting.splice(0, part.length);
        own.sent.push(...part.map((each, k) => ({ ...each, ...results[k] })));
        own.sent = own.sent.slice(-20000);
      });
    }
    this.eraseKeys();
  }
  async change(setting) {
    await ask("PATCH", "/v1/me", { token: this.member.token, body: { setting } });
    this.update((own) => Object.assign(own, { first: own.first ?? own.setting, setting }));
  }
  async leave() {
    const answer = await ask("DELETE", "/v1/me", { token: this.member.token });
    this.update((own) => Object.assign(own, { left: Date.now(), waiting: [] }));
    return answer;
  }
  standing() {
    return Promise.all(["/v1/me", "/v1/me/ledger"].map((path) => ask("GET", path, { token: this.member.token })));
  }
}
