"""``halfmask campaign``: make a campaign from an offer, show what producers will see, and post it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from halfmask.commands._campaign_posting import ConsumerAccess, post_campaign
from halfmask.commands._options import AnyMenu, AnyPath, Flag, Numbers, Several, Whole, WholeIfAny, command
from halfmask.commands._printing import note, print_rows
from halfmask.commands._shared_options import MayWrite, menu_of
from halfmask.errors import OptionError
from halfmask_device.campaign_calendar import Calendar
from halfmask_device.consent import LEAST_PRODUCERS, level_words
from halfmask_device.decimals import money, number_text
from halfmask_device.instants import at, instant_text, of_datetime
from halfmask_device.level_epsilon import CampaignLevel, month_reward
from halfmask_device.protocol import CampaignTerms, MessageError
from halfmask_device.reading_times import time_zone
from halfmask_device.setting import SPLIT, TOTAL, DeviceSetting
from halfmask_device.split_terms import carries_shares

if TYPE_CHECKING:
    from halfmask.menus.menu import Menu

KINDS = {"15m": "quarter_hour", "30m": "half_hour"}
"""Names of a campaign's periods that are spelled differently in an offer."""
OPTION_OF = {
    "begins": "begin", "ends": "end", "lattice": "high", "readings_expected": "readings", "every_minutes": "every",
    "grace_minutes": "grace", "groups": "group", "join": "invitation", "keep_reports": "keep",
}  # fmt: skip
"""The option that sets a field of a campaign, if it has another name."""


class CampaignOptions(MayWrite):
    """Options of `campaign`.

    Parameters
    ----------
    menu
        A published offer, or another menu.
    name
        The campaign's name.
    purpose
        What the totals are for. Producers see it before they join.
    begin
        When it begins: a date in --time-zone, or a time with an offset.
    end
        When it ends: this date or time is not part of it any more.
    period
        What a sum covers. An offer of totals decides it itself.
    time_zone
        Where days begin, such as Europe/Berlin.
    unit
        Unit of the readings; the offer's by default.
    low
        The least value that a report masks; an offer of totals states it.
    high
        The largest value that a report masks; an offer of totals states it.
    step
        The step of the devices' lattice; the offer's by default, because its promises are for that step.
    readings
        How many readings a device has in a period, such as 48.
    every
        Count the first report of every so many minutes, such as 30.
    grace
        Minutes after a period's end until which reports of it are taken.
    least_producers
        Publish only sums of at least this many producers.
    rewards
        What a report earns, by level, in whole parts of the currency: A=4,B=3.
    currency
        The currency, and into how many parts it is divided.
    budget
        The most that the campaign pays in all, in the same parts.
    most_per_period
        The most that one producer earns in a period.
    group
        A group that gets a total too, such as a feeder or a tariff; may be repeated. Each producer names one.
    invitation
        Take only producers with an invitation.
    keep
        Keep masked reports after their period has closed.
    live
        Show open periods too.
    nouns
        What producers are called on their page, one and many of them, such as station,stations.
    service
        The address of the service to which the campaign is posted. Without it, it is only shown.
    token_file
        A file that holds the consumer's token; by default the environment's HALFMASK_TOKEN.
    helper
        The address of the second service of a split level, run by somebody else.
    helper_token_file
        A file that holds the consumer's token of the helper; by default the environment's HALFMASK_HELPER_TOKEN.
    output
        Also write the campaign to this file (JSON).
    """

    menu: AnyMenu = field(kw_only=False)
    name: str
    purpose: str
    begin: str
    end: str
    period: Literal["quarter_hour", "half_hour", "hour", "day", "week", "month", "year"] | None = None
    time_zone: str = "UTC"
    unit: str | None = None
    low: str | None = None
    high: str | None = None
    step: str | None = None
    readings: WholeIfAny = None
    every: WholeIfAny = None
    grace: Whole = 60
    least_producers: Whole = LEAST_PRODUCERS
    rewards: Numbers | None = None
    currency: str = "EUR/1000"
    budget: WholeIfAny = None
    most_per_period: WholeIfAny = None
    group: Annotated[tuple[str, ...], Several] = ()
    invitation: Flag = False
    keep: Flag = False
    live: Flag = False
    nouns: str = "home,homes"
    service: str | None = None
    token_file: AnyPath | None = None
    helper: str | None = None
    helper_token_file: AnyPath | None = None

    def check_together(self) -> None:
        if self.helper_token_file is not None and (self.helper is None or self.service is None):
            raise OptionError("`helper_token_file` goes with `helper` and `service`", kind="helper", field="helper")
        if self.token_file is not None and self.service is None:
            raise OptionError("`token_file` goes with `service`", kind="service", field="service")
        if bool(self.rewards) != bool(self.budget):
            raise OptionError("rewards and budget go together: name `rewards` and `budget`, or neither", kind="budget")
        if self.most_per_period is not None and not self.rewards:
            raise OptionError("`most_per_period` is about rewards: name `rewards` too", kind="rewards")


@dataclass(frozen=True)
class OfferedCampaign:
    """A campaign as it is posted.

    ``id``        its id at the service; empty if it was not posted
    ``warnings``  what the service says about it
    """

    plain: Mapping[str, Any]
    id: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def terms(self) -> CampaignTerms:
        """The terms, as devices read them."""
        return CampaignTerms.read(self.plain)

    def write(self, path: Path) -> None:
        from halfmask.files import write_page

        write_page(dict(self.plain), path)


@command(CampaignOptions, group="Share: service")
def campaign(options: CampaignOptions) -> OfferedCampaign:
    """Return the campaign of an offer, checked as devices check it; with ``service`` post it."""
    made = _made(options)
    if options.service is None:
        return made
    id, warnings = post_campaign(
        made.plain, ConsumerAccess(options.service, options.token_file), options.helper_token_file
    )
    return OfferedCampaign(made.plain, id, warnings)


def _made(options: CampaignOptions) -> OfferedCampaign:
    menu = menu_of(options.menu)
    menu.check_publishable()
    plain = _plain(options, menu)
    try:
        terms = CampaignTerms.read(plain)
    except MessageError as error:
        option = OPTION_OF.get(error.field.partition(".")[0], error.field.partition(".")[0])
        raise OptionError(f"the campaign's {error}", kind="campaign", field=option) from error
    last = at(terms.ends - 1).astimezone(time_zone(terms.time_zone)).date()
    if menu.signed is not None and last > date.fromisoformat(menu.signed.until):
        raise OptionError(
            f"the offer is signed until {menu.signed.until}: end the campaign by then, or have it signed for longer",
            kind="signed",
            field="end",
        )
    if terms.release == TOTAL:
        calendar = Calendar(terms.period, terms.time_zone)
        for option, instant in (("begin", terms.begins), ("end", terms.ends)):
            if not calendar.begins_at(instant):
                raise OptionError(
                    f"`{option}` lies within a {terms.period}, whose total would be cut off: name the first instant "
                    f"of a {terms.period} in {terms.time_zone}",
                    kind="boundary",
                    field=option,
                )
    return OfferedCampaign(plain | _paid(options, terms))


def _plain(options: CampaignOptions, menu: "Menu") -> dict[str, Any]:
    """Return the campaign without its rewards. What the offer promises for one step, range or period is kept."""
    from halfmask.menus.menu import menu_json

    asked, totals = menu.question, menu.release == TOTAL
    period = KINDS.get(asked.period, asked.period) if asked else "day"
    stated = {"unit": asked.unit, "step": asked.step} if asked else {}
    if asked and totals:
        stated |= {"low": asked.low, "high": asked.high, "period": period}
    chosen = {name: _agreed(options, name, stated.get(name)) for name in ("unit", "step", "low", "high")}
    chosen["period"] = _agreed(options, "period", stated.get("period") or options.period or "day")
    counted = asked is not None and chosen["period"] == period and (totals or asked.readings > 1)
    known = menu.public is None or menu.public.interval_known  # else the noise of the summary chose the interval
    readings = options.readings or (asked.readings if asked and counted and known else None)
    if totals and readings is None:
        raise OptionError(
            f"the offer does not know how many readings a device has in a {chosen['period']}: name `readings`, such as "
            "48 for half-hours of a day",
            kind="missing",
            field="readings",
        )
    return {
        "name": options.name,
        "purpose": options.purpose,
        "unit": chosen["unit"],
        "lattice": {name: chosen[name] for name in ("step", "low", "high")},
        "period": chosen["period"],
        "time_zone": options.time_zone,
        "begins": _instant(options, "begin"),
        "ends": _instant(options, "end"),
        "grace_minutes": options.grace,
        "menu": menu_json(menu),
        "release": menu.release,
        "readings_expected": readings,
        "every_minutes": options.every,
        "least_producers": options.least_producers,
        **({"groups": list(options.group)} if options.group else {}),
        "join": "invitation" if options.invitation else "open",
        "keep_reports": "always" if options.keep else "until_closed",
        "live": options.live,
        "nouns": _nouns(options.nouns),
    } | _split(options, menu)


def _split(options: CampaignOptions, menu: "Menu") -> dict[str, Any]:
    """Return the helper of a menu with a split level. Raise an OptionError if one of the two is missing."""
    levels = [each.id for each in menu.settings if each.setting.release == SPLIT]
    if bool(levels) != bool(options.helper):
        raise OptionError(
            f"level {levels[0]} splits totals between two services: name `helper`, the second one, run by somebody else"
            if levels
            else "no level of this menu splits totals: leave `helper` out, or add one by 'halfmask offer' with `split`",
            kind="helper",
            field="helper",
        )
    if options.helper is None:
        return {}
    if not carries_shares(options.helper):
        raise OptionError(
            f"{options.helper} does not encrypt what is sent: name an https:// address",
            kind="plain_http",
            field="helper",
        )
    return {"split": {"helper": options.helper.rstrip("/")}}


def _nouns(text: str) -> dict[str, str]:
    one, _, many = (each.strip() for each in text.partition(","))
    if not one or not many:
        raise OptionError("`nouns` are two words, one and many: station,stations", kind="nouns", field="nouns")
    return {"one": one, "many": many}


def _agreed(options: CampaignOptions, name: str, stated: str | float | None) -> str:
    """Return what the offer states, or else the option. Raise an OptionError if both are given and differ."""
    asked = getattr(options, name)
    offered = number_text(stated) if isinstance(stated, float) else stated
    if not offered and not asked:
        raise OptionError(f"the offer does not state the {name}: name `{name}`", kind="missing", field=name)
    same = str(asked) == offered or (isinstance(stated, float) and asked and _number(asked, name) == stated)
    if offered and asked and not same:
        raise OptionError(
            f"the offer's promises are for {name} {offered}, not for {asked}: leave `{name}` out, or make another "
            "offer",
            kind="promise",
            field=name,
        )
    return str(offered or asked)


def _number(text: str, name: str) -> float:
    from halfmask_device.decimals import parse_number

    return parse_number(text, f"{name} {text}")


def _instant(options: CampaignOptions, name: Literal["begin", "end"]) -> str:
    """Return a date or a time as RFC 3339; a date is its midnight in the campaign's time zone."""
    text = getattr(options, name)
    try:
        zone = time_zone(options.time_zone)
    except (KeyError, ValueError) as error:
        raise OptionError(
            f"there is no time zone {options.time_zone!r}: write it like Europe/Berlin", kind="zone", field="time_zone"
        ) from error
    try:
        day = date.fromisoformat(text) if len(text) == 10 else None
        found = datetime(day.year, day.month, day.day, tzinfo=zone) if day else datetime.fromisoformat(text)
    except ValueError:
        found = datetime.max
    if found.tzinfo is None:
        raise OptionError(
            f"`{name}` is not a date, or not a time with its offset: write it like 2027-01-01 or "
            "2027-01-01T00:00:00+01:00",
            kind="time",
            field=name,
        )
    return instant_text(of_datetime(found))


def _paid(options: CampaignOptions, terms: CampaignTerms) -> dict[str, Any]:
    """Return rewards, budget and cap."""
    from halfmask.choice.mix import parse_shares

    if not options.rewards:
        return {}
    given = parse_shares(options.rewards, "rewards") if isinstance(options.rewards, str) else options.rewards
    rewards = {id: int(amount) for id, amount in given.items()}
    if wrong := [id for id, amount in given.items() if id not in terms.menu or amount != rewards[id] or amount < 0]:
        raise OptionError(
            f"rewards {wrong[0]}={given[wrong[0]]:g}: rewards are whole numbers of {options.currency} from 0 on, for "
            f"{', '.join(terms.menu)}",
            kind="rewards",
            field="rewards",
        )
    cap = {} if options.most_per_period is None else {"most_per_period": options.most_per_period}
    return {"rewards": rewards, "currency": options.currency, "budget": options.budget, **cap}


def main(options: CampaignOptions) -> None:
    """Make a campaign from an offer: check it, show what producers will see, and post it to a service."""
    made = campaign(options)
    terms, plain = made.terms, made.plain
    period = terms.period.replace("_", " ")
    note(f"{plain['name']}: the sum of each {period} in {terms.time_zone}, from {terms.least_producers} producers on")
    first, last = (at(each).astimezone(time_zone(terms.time_zone)) for each in (terms.begins, terms.ends - 1))
    note(f"from {first:%Y-%m-%d} to {last:%Y-%m-%d}, that day included; {_count(terms):,} totals, one per {period}")
    note(f"purpose: {terms.purpose}")
    if terms.signature:
        note(terms.signature.words(date.today()))
    print_rows(_rows(made), "What a producer sees")
    meant = dict.fromkeys(_day_words(terms, id).partition(" for ")[2] for id in terms.menu)
    for words in (*(f"epsilon: for {each}" for each in meant if each), *_money(made), *_warned(terms), *made.warnings):
        note(words)
    if made.id:
        print(made.id)
        note(f"posted; producers join with: halfmask join {options.service} --campaign {made.id} --state mine")
    else:
        note("not posted: --service ADDRESS posts it, with the consumer's token in HALFMASK_TOKEN")


def _count(terms: CampaignTerms) -> int:
    """Return how many periods the campaign has."""
    calendar = Calendar(terms.period, terms.time_zone)
    first, last = calendar.span_of(terms.begins), calendar.span_of(terms.ends - 1)
    return calendar.number_of(last) - calendar.number_of(first) + 1


def _rows(made: OfferedCampaign) -> list[tuple[str, ...]]:
    terms, rewards = made.terms, made.plain.get("rewards", {})
    names = {each["id"]: str(each.get("name", "")) for each in made.plain["menu"]["settings"]}
    rows: list[tuple[str, ...]] = [("level", "name", "setting", "30 days earn up to", "a whole day")]
    for id, setting in terms.menu.items():
        most = month_reward(terms, id) if rewards.get(id) else 0
        paid = "not known" if most is None else money(most, made.plain["currency"]) if most else "-"
        rows.append((id, names[id], setting, paid, _day_words(terms, id).partition(" for ")[0]))
    return rows


def _day_words(terms: CampaignTerms, id: str) -> str:
    return level_words([CampaignLevel.of(terms, id)], None, "day")


def _money(made: OfferedCampaign) -> list[str]:
    """Return in words what one producer may earn, and for how many producers the budget is enough."""
    plain = made.plain
    cap, currency, budget = plain.get("most_per_period"), str(plain.get("currency")), plain.get("budget")
    if not cap or not budget:
        return []
    most, period = cap * _count(made.terms), made.terms.period.replace("_", " ")
    return [
        f"one producer earns at most {money(cap, currency)} a {period}, {money(most, currency)} in all; the budget of "
        f"{money(budget, currency)} is enough for {budget // most:,} producers who earn the most"
    ]


def _warned(terms: CampaignTerms) -> list[str]:
    """Return what a consumer should know before producers join, because terms cannot change afterwards."""
    found = []
    open_levels = [id for id, text in terms.menu.items() if not DeviceSetting.parse(text).parameters]
    if open_levels:
        found.append(f"{', '.join(open_levels)} is shared without a mask")
    if terms.least_producers < LEAST_PRODUCERS:
        found.append(f"devices join only from {LEAST_PRODUCERS} producers on, unless their owners allow fewer")
    if terms.split_id:
        found.append(
            f"level {terms.split_id} holds against everyone but this service and {terms.offer['split']['helper']} "
            "together: they must not be run by one hand"
        )
    if terms.groups:
        found.append(
            f"{len(terms.groups)} groups get a total too, if they have {terms.least_producers} producers or more; the "
            "smallest of the others are withheld with those that have fewer, so that no difference reveals them"
        )
    if terms.live:
        found.append("open periods are shown too, and producers are told")
    return found
