// A receipt of consent: who, what, until when, and the promise exactly, as a text that a person can keep.
export async function receipt(words, campaign, level, member, facts) {
  const digest = await terms(campaign);
  const lines = [
    words.say("receipt_title"),
    "",
    `${words.say("receipt_who")}: ${campaign.name} (${location.origin})`,
    `${words.say("receipt_purpose")}: ${campaign.purpose}`,
    `${words.say("receipt_what")}: ${facts.what}`,
    `${words.say("receipt_level")}: ${level.id} (${level.setting})`,
    `${words.say("receipt_promise")}: ${facts.promise}`,
    `${words.say("receipt_until")}: ${campaign.ends}`,
    `${words.say("receipt_keeps")}: ${words.say(campaign.keep_reports === "always" ? "keeps_always" : "keeps_until_closed")}`,
    `${words.say("receipt_live")}: ${words.say(campaign.live ? "yes" : "no")}`,
    `${words.say("receipt_pay")}: ${facts.pay}`,
    `${words.say("receipt_joined")}: ${new Date(member.joined).toISOString()}`,
    `${words.say("receipt_pseudonym")}: ${member.producer}`,
    `${words.say("receipt_terms")}: ${digest}`
  ];
  return lines.join("\n") + "\n";
}

/** SHA-256 of the offer as the service showed it, with sorted keys; a page without a secure connection has none. */
async function terms(campaign) {
  if (!crypto.subtle) return "-";
  const sorted = (value) => Array.isArray(value) ? value.map(sorted) : value && typeof value === "object"
    ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : value;
  const found = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(sorted(campaign))));
  return [...new Uint8Array(found)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function save(text, name, kind = "text/plain") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${kind};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
