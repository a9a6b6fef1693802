// The producer's page: which campaign, its choice, own readings, and taking part.
import { readReadings } from "./readings_file.js";
import { Choice } from "./level_choice.js";
import { ask, ServiceError } from "./page_device.js";
import { Sharing } from "./sharing.js";
import { Words } from "./words.js";

const at = (id) => document.getElementById(id);
const AGAIN = 5000;

function watchFile(choice, words) {
  at("own").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    try {
      const readings = readReadings(await file.text(), choice.campaign.time_zone);
      choice.own(readings);
      const [first, last] = [readings[0], readings.at(-1)].map((each) => words.date(each.instant, choice.campaign.time_zone));
      at("own-told").textContent = `${words.say("own_shown", { count: words.number(readings.length, 9), first, last })} ${words.say("own_unit", { unit: choice.campaign.unit })}`;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      at("own-told").textContent = words.say(`own_bad_${error.message}`);
    }
  });
}

function listCampaigns(campaigns, words) {
  const list = document.createElement("ul");
  for (const each of campaigns) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = `/?campaign=${encodeURIComponent(each.campaign)}`;
    link.textContent = each.name;
    const told = document.createElement("span");
    told.className = "quiet";
    told.textContent = each.purpose;
    item.append(link, told);
    list.append(item);
  }
  at("campaigns").replaceChildren(list);
  at("campaigns").setAttribute("aria-label", words.say("which_campaign"));
  at("campaigns").hidden = false;
  at("asks").textContent = words.say("which_campaign");
}

async function open(words) {
  const wanted = new URLSearchParams(location.search).get("campaign");
  const campaigns = wanted ? [await ask("GET", `/v1/campaigns/${encodeURIComponent(wanted)}`)] : (await ask("GET", "/v1/campaigns")).campaigns;
  at("trouble").hidden = true;
  if (campaigns.length !== 1) {
    if (campaigns.length) listCampaigns(campaigns, words);
    else at("asks").textContent = words.say("no_campaign");
    return;
  }
  const [campaign] = campaigns, promises = await ask("GET", `/v1/campaigns/${campaign.campaign}/levels`);
  const nouns = campaign.nouns.one === "home" ? {} : campaign.nouns; // the usual ones have words in every language
  const own = words.with({ one: words.say("one"), many: words.say("many"), ...nouns, day: words.say(campaign.release === "total" ? "month_days" : "day"), period: words.say(`period_${campaign.period}`) });
  own.fill(document);
  at("choice").hidden = false;
  const choice = new Choice(campaign, promises, own);
  at("asks").textContent = own.say("asks", { name: campaign.name, what: choice.what(), purpose: campaign.purpose });
  document.title = campaign.name;
  watchFile(choice, own);
  new Sharing(choice, own).start();
}

async function start() {
  const words = await Words.load();
  words.with({ one: words.say("one"), many: words.say("many"), day: words.say("day") }).fill(document);
  document.title = words.say("title");
  const secure = window.isSecureContext;
  at("insecure").hidden = secure;
  const again = async () => {
    try {
      await open(words);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      at("trouble").textContent = error.status === 404 ? words.say("unknown_campaign") : error.status ? error.message : words.say("no_service");
      at("trouble").hidden = false;
      if (!error.status || error.status >= 500) setTimeout(again, AGAIN);
    }
  };
  await again();
}

await start();
