// Taking part: joining by a device or by this page, what was sent, budget, rewards, another level, leaving.
import { readReadings } from "./readings_file.js";
import { Curve } from "./curve.js";
import { ask, PageDevice, ServiceError } from "./page_device.js";
import { receipt, save } from "./receipt.js";

const at = (id) => document.getElementById(id);
const AGAIN = 5000;
const DAYS = 30 * 86400000;

export class Sharing {
  constructor(choice, words) {
    Object.assign(this, { choice, words, campaign: choice.campaign, trouble: "", own: new Map() });
    this.device = new PageDevice(choice.campaign);
  }
  start() {
    this.choice.changed = () => this.show();
    const { campaign } = this;
    at("invited").hidden = campaign.join !== "invitation";
    at("grouped").hidden = !campaign.groups?.length;
    at("group").replaceChildren(...(campaign.groups ?? []).map((each) => new Option(each, each)));
    for (const each of document.querySelectorAll("[name=by]")) each.addEventListener("change", () => this.show());
    for (const id of ["agree", "group"]) at(id).addEventListener("change", () => this.show());
    at("join-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.attempt(() => (at("by-page").checked ? this.join() : this.pair()), "join-told");
    });
    at("file").addEventListener("change", (event) => this.attempt(() => this.give(event.target.files[0]), "file-told"));
    at("change").addEventListener("click", () => this.attempt(() => this.device.change(this.choice.level.id)));
    at("receipt").addEventListener("click", () => this.keepReceipt());
    at("leave").addEventListener("click", () => at("sure").showModal());
    at("leave-no").addEventListener("click", () => at("sure").close());
    at("leave-yes").addEventListener("click", () => {
      at("sure").close();
      this.attempt(() => this.device.leave());
    });
    at("forget").addEventListener("click", () => {
      this.device.forget();
      this.show();
    });
    window.addEventListener("online", () => this.sync());
    setInterval(() => this.sync(), AGAIN);
    const paired = new URLSearchParams(location.hash.slice(1)).get("pair");
    if (paired && !this.device.member) at("code").value = paired;
    this.show();
    this.sync();
  }
  /** Do something that may fail, and say what went wrong. */
  async attempt(work, place = "join-told") {
    at(place).textContent = "";
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ServiceError || error instanceof RangeError)) throw error;
      at(place).textContent = error instanceof ServiceError ? this.problem(error) : this.words.say(`own_bad_${error.message}`);
    }
    await this.sync();
    this.show();
  }
  problem(error) {
    if (!error.status) return this.words.say("no_service");
    return error.code === "code_unknown" ? this.words.say("code_unknown") : error.message;
  }
  async join() {
    const group = at("grouped").hidden ? null : at("group").value;
    await this.device.join(this.choice.level.id, group, at("invitation").value.trim() || null);
    this.focusMember();
  }
  async pair() {
    const code = at("code").value.trim().toUpperCase();
    const made = await ask("POST", `/v1/campaigns/${this.campaign.campaign}/pages`, { body: { code } });
    const me = await ask("GET", "/v1/me", { token: made.token });
    this.device.remember({ ...made, producer: me.producer, by: "device", setting: me.setting, joined: Date.parse(me.joined), waiting: [], sent: [] });
    history.replaceState(null, "", location.pathname + location.search);
    this.focusMember();
  }
  focusMember() {
    this.show();
    at("member").querySelector("h2").tabIndex = -1;
    at("member").querySelector("h2").focus();
  }
  async give(file) {
    if (!file) return;
    const readings = readReadings(await file.text(), this.campaign.time_zone);
    at("file").value = ""; // so that the same file can be given again
    this.choice.own(readings);
    for (const each of readings) this.own.set(new Date(each.instant).getTime(), Number(each.value));
    const { masked, outside, short } = this.device.mask(readings);
    at("file-told").textContent = this.words.say(masked ? "masked_now" : "masked_none", { count: masked, outside, short });
  }
  /** Send what waits and read how things stand. Offline nothing is lost, and it is tried again. */
  async sync() {
    const { member } = this.device;
    if (!member || this.busy || !window.isSecureContext) return;
    this.busy = true;
    try {
      if (member.by === "page" && !member.left && !this.spent()) await this.device.send();
      [this.me, this.ledger] = await this.device.standing();
      if (this.me.setting !== this.device.member.setting) this.device.update((own) => (own.setting = this.me.setting));
      if (this.me.left) this.device.update((own) => (own.left ??= Date.parse(this.me.left)));
      this.trouble = "";
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.trouble = error.status === 401 || error.status === 403 ? "gone" : "offline";
    } finally {
      this.busy = false;
    }
    this.show();
  }
  show() {
    const { words, campaign, choice } = this, { member } = this.device, { level } = choice;
    const split = level.against === "one_service", secure = window.isSecureContext;
    at("join").hidden = Boolean(member) || !secure || this.ended;
    at("ended").hidden = Boolean(member) || !this.ended;
    at("ended").textContent = this.saidEnded();
    at("member").hidden = !member;
    at("by-page").disabled = split;
    if (split && at("by-page").checked) document.querySelector("[name=by][value=device]").checked = true;
    at("by-page-hint").textContent = words.say(split ? "by_page_split" : "by_page_hint");
    at("page-way").hidden = !at("by-page").checked;
    at("device-way").hidden = at("by-page").checked;
    at("command").replaceChildren(...this.command().split(/ (?=--)/).flatMap((text) => [Object.assign(document.createElement("span"), { textContent: text }), " "]));
    at("agree-words").textContent = words.say("agree", { id: level.id, ends: words.date(Date.parse(campaign.ends), campaign.time_zone) });
    at("join-now").disabled = !at("agree").checked;
    if (member) this.showMember(member, level);
  }
  /** What the owner of a device types to join by the chosen level, or to change to it. */
  command() {
    const { campaign, choice, device } = this, quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
    const asked = device.member ? [] : [campaign.groups?.length && `--group ${quoted(at("group").value)}`, campaign.join === "invitation" && "--invitation INVITATION"];
    return ["halfmask join", location.origin, `--campaign ${campaign.campaign} --setting ${choice.level.id}`, ...asked.filter(Boolean), "--state mine --pair"].join(" ");
  }
  showMember(member, level) {
    const { words, campaign } = this, byPage = member.by === "page", stays = !member.left && !this.ended && this.trouble !== "gone";
    at("by").textContent = words.say(byPage ? "joined_by_page" : "joined_by_device", { id: member.setting });
    at("state").textContent = this.state(member);
    at("give").hidden = !byPage || !stays;
    at("change").hidden = !byPage || !stays || level.id === member.setting || level.against === "one_service";
    at("change").textContent = words.say("change", { id: level.id });
    at("change-device").hidden = byPage || !stays || level.id === member.setting;
    at("change-device").textContent = words.say("change_device", { command: this.command() });
    at("leave").hidden = !stays;
    at("forget").hidden = stays;
    at("budget").hidden = !byPage;
    at("budget-left").textContent = `${Math.max(0, Math.round(100 * (1 - this.used())))} %`;
    at("rewards").textContent = this.rewards();
    this.drawSent(member);
  }
  state(member) {
    const { words, campaign } = this, count = (status, code) => member.sent.filter((each) => each.status === status && (!code || each.code === code)).length;
    const said = [];
    if (member.left) return words.say("state_stopped_left");
    if (this.trouble === "gone") return words.say("state_stopped_gone");
    if (this.ended) return this.saidEnded();
    if (this.spent()) said.push(words.say("state_stopped_budget"));
    if (this.trouble === "offline" || !navigator.onLine) said.push(words.say("state_offline", { count: member.waiting.length }));
    const accepted = count("accepted") + count("known"), late = count("refused", "closed");
    const waits = words.say("state_waiting", { count: accepted, least: campaign.least_producers, period: words.say(`period_${campaign.period}`) });
    const others = member.sent.filter((each) => each.status === "refused" && each.code !== "closed");
    if (!said.length && (accepted || !late && !others.length)) said.push(member.by === "device" ? words.say("state_device") : accepted ? waits : words.say("state_idle"));
    if (late) said.push(words.say("state_late", { count: late }));
    if (others.length) said.push(words.say("state_refused", { count: others.length, why: words.reason(others.at(-1).code) }));
    return said.join(" ");
  }
  /** Whether the campaign is over, with the time in which it still takes reports. */
  get ended() {
    return Date.now() > Date.parse(this.campaign.ends) + this.campaign.grace_minutes * 60000;
  }
  saidEnded() {
    return this.words.say("state_stopped_ended", { ends: this.words.date(Date.parse(this.campaign.ends), this.campaign.time_zone) });
  }
  /** The share of this month's budget that is used: each report costs its part of its level's epsilon of 30 days. */
  used() {
    const { member } = this.device, since = Date.now() - DAYS, { levels } = this.choice.promises;
    const first = levels.find((each) => each.id === (member.first ?? member.setting)), budget = first?.epsilon.month;
    if (!budget) return 0;
    const cost = (id) => {
      const level = levels.find((each) => each.id === id);
      return level?.epsilon.month && level.reports.month ? level.epsilon.month / level.reports.month : 0;
    };
    const recent = [...member.sent, ...member.waiting].filter((each) => Date.parse(each.time) > since && each.status !== "refused");
    return recent.reduce((all, each) => all + cost(each.setting), 0) / budget;
  }
  spent() {
    return this.device.member.by === "page" && this.used() > 1 + 1e-9;
  }
  rewards() {
    const { words, campaign, me } = this;
    if (!me) return "-";
    if (me.expected === undefined) return words.money(me.earned, campaign.currency);
    return words.say("rewards_are", { expected: words.money(me.expected, campaign.currency), earned: words.money(me.earned, campaign.currency) });
  }
  drawSent(member) {
    const { words } = this, step = Number(this.campaign.lattice.step);
    const sent = [...member.sent, ...member.waiting].sort((a, b) => Date.parse(a.time) - Date.parse(b.time)).slice(-96);
    at("sent-part").hidden = member.by !== "page";
    at("about-sent").textContent = sent.length < 2 ? words.say("sent_none") : words.say("sent_caption", { count: sent.length });
    at("sent").parentElement.hidden = sent.length < 2;
    if (sent.length < 2) return;
    const seen = sent.map((each) => each.steps * step), mine = sent.map((each) => this.own.get(Date.parse(each.time)));
    this.curve ??= new Curve(at("sent"), { yours: words.say("yours"), theirs: words.say("theirs"), same: "", nothing: "" });
    const zone = this.campaign.time_zone, marks = [sent[0], sent.at(-1)].map((each) => words.date(Date.parse(each.time), zone));
    const known = mine.every((each) => each !== undefined);
    this.curve.draw(known ? mine : seen, seen, marks);
    this.curve.yours.toggleAttribute("hidden", !known);
    this.curve.labels[0].toggleAttribute("hidden", !known);
  }
  async keepReceipt() {
    const { choice, words } = this, { member } = this.device;
    const level = choice.promises.levels.find((each) => each.id === member.setting);
    const text = await receipt(words, this.campaign, level, member, { what: choice.what(), promise: choice.promise(level), pay: choice.pay(level) });
    save(text, `consent-${this.campaign.campaign}.txt`);
  }
}
