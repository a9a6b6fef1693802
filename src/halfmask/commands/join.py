"""``halfmask join``: join a campaign from a producer's own device."""

import os
import sys
from dataclasses import field, replace
from datetime import date

from halfmask.commands._options import Flag, command
from halfmask.commands._printing import CommandAnswer, note, one_line
from halfmask.commands._qr_code import drawn, qr_code
from halfmask.commands._shared_options import IN_SHORT, Display, OfDevice
from halfmask.errors import OptionError
from halfmask_device.consent import LEAST_PRODUCERS, Consent, level_words
from halfmask_device.http_client import ServiceClient
from halfmask_device.level_epsilon import CampaignLevel
from halfmask_device.membership import Membership, levels
from halfmask_device.protocol import CampaignTerms, MessageError
from halfmask_device.setting import TOTAL, DeviceSetting
from halfmask_device.split_services import trust_words


class Join(OfDevice):
    """Options of `join`.

    Parameters
    ----------
    url
        The service's address.
    campaign
        The campaign's id; not needed if the service has one campaign.
    setting
        The id of the menu's setting to share by.
    group
        The group of the campaign to be counted in, for campaigns that have groups. It does not change later.
    invitation
        An invitation, for campaigns that are not open to all.
    readmitted
        Take the token in HALFMASK_TOKEN, which an operator made for a producer whose token was lost.
    also
        Join although the device shares the same readings with another campaign.
    budget
        The budget from now on, as epsilon of whole days over 30 days; inf keeps none.
    least_producers
        Refuse campaigns that publish totals of fewer producers.
    pair
        Show a code that connects the service's page with this device. In a campaign that the device has joined before
        it takes another setting, if one is named.
    """

    url: str = field(kw_only=False)
    campaign: str | None = None
    setting: str | None = None
    group: str | None = None
    invitation: str | None = None
    readmitted: Flag = False
    also: Flag = False
    budget: float | None = None
    least_producers: int = LEAST_PRODUCERS
    pair: Flag = False


@command(Join, group="Share: device")
def join(options: Join) -> Membership:
    """Join a campaign: the device stores its token, and pins the terms by their hash."""
    from halfmask_device.sharing import Sharer

    consent = Consent(options.also, options.budget, options.least_producers)
    if options.readmitted:
        token = os.environ.get("HALFMASK_TOKEN")
        if not token:
            raise OptionError("`readmitted` needs the new token: set HALFMASK_TOKEN to it", kind="token")
        return Sharer(options.state).adopt(options.url, options.campaign, token, consent)
    return Sharer(options.state).join(
        options.url, options.campaign, options.setting, options.invitation, consent, options.group
    )


def _asked(options: Join) -> Membership:
    """Join; on a terminal, ask for consent if the device shares the same readings with another campaign."""
    try:
        return join(options)
    except OptionError as error:
        if error.code != "option.also" or not sys.stdin.isatty():
            raise
        note(str(error))
        print("Join this one too? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise
        return join(replace(options, also=True))


def _joined_before(options: Join) -> Membership | None:
    """Return the device's membership if it has joined the campaign already, with the setting that is asked for."""
    from halfmask_device.sharing import Sharer

    sharer = Sharer(options.state)
    found = next((each for each in sharer.memberships() if options.campaign in (None, each.campaign)), None)
    if found is None or options.setting in (None, found.setting):
        return found
    return sharer.change(found.campaign, str(options.setting), options.budget)


def _show_code(member: Membership) -> None:
    """Show the code with which the service's page connects to this device, and the address as a QR code."""
    made = ServiceClient(member.address).ask("POST", "/v1/me/code", member.token)
    if not isinstance(made, dict) or not isinstance(made.get("code"), str):
        raise MessageError("code", "is missing in the service's answer: does it serve pages?")
    page = f"{member.address}/?campaign={member.campaign}#pair={made['code']}"
    picture = qr_code(page)
    if picture is not None:
        note(drawn(picture))
    print(made["code"])
    note(f"open {page} within ten minutes, or type the code there; the page sees what is sent, and may leave")


def main(options: Join, *, shown: Display = IN_SHORT) -> None:
    """Join a campaign of a service from the producer's own device."""
    if options.pair and (joined := _joined_before(options)):
        _show_code(joined)
        return
    member = _asked(options)
    offer, terms = member.offer, CampaignTerms.read(member.offer)
    first, *details = _meant(options, member, terms)
    signed = [one_line(terms.signature.words(date.today()))] if terms.signature else []
    level = f"{member.setting} ({one_line('; '.join(levels(terms)[member.setting]))})"
    shown.show(
        CommandAnswer(
            {
                "campaign": member.campaign,
                "address": member.address,
                "setting": member.setting,
                "terms": dict(offer),
                "pinned": member.pinned,
            },
            [],
            f"Joined campaign {member.campaign} by setting {level}: {one_line(terms.purpose)}.\n"
            + "\n".join([first, *signed]),
            f"halfmask send readings.csv --state {options.state}",
            _warned(options, member, terms),
            words=[*details, f"terms pinned: {member.pinned}"],
        )
    )
    if options.pair:
        _show_code(member)


def _meant(options: Join, member: Membership, terms: CampaignTerms) -> list[str]:
    """Return what the level means for a whole day, then how reports are made."""
    from halfmask_device.sharing import Sharer

    seen = Sharer(options.state, create=False).readings_seen()
    told = [f"A whole day by this level: {level_words([CampaignLevel.of(terms, member.setting)], seen, 'day')}."]
    if terms.release == TOTAL:
        period = terms.period.replace("_", " ")
        made = "cut into two shares" if member.splits else "masked as one number"
        told.append(
            f"one report per {period}: its readings are kept on this device until the {period} has ended, added up, "
            f"{made} and erased"
        )
    told.append(f"published from {terms.offer.get('least_producers')} producers on")
    if terms.groups:
        told.append(f"totals are published of {len(terms.groups)} groups too; you are counted in {options.group}")
    return told


def _warned(options: Join, member: Membership, terms: CampaignTerms) -> list[str]:
    """Return what the producer must see: readings without a mask, who holds the shares, the budget, what is kept."""
    from halfmask_device.sharing import Sharer

    told, setting = list[str](), member.setting
    if not DeviceSetting.parse(terms.menu[setting]).parameters:  # only `none` takes no parameters
        what = "totals" if terms.release == TOTAL else "readings"
        told.append(f"setting {setting} is 'none': {what} are sent as they are, without a mask")
    if member.splits:
        told += trust_words(member.split_terms)
    told += Sharer(options.state, create=False).budget_words()
    if terms.offer.get("keep_reports") == "always":
        told.append("the service keeps masked reports after their period is closed")
    if terms.offer.get("live"):
        told.append(
            "the campaign is live: aggregates are shown while a period is open, and the closed one may differ from the "
            "last of these by fewer producers"
        )
    return told
