"""``halfmask leaflet``: write a page for households, from a menu alone."""

import sys
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from halfmask.commands._files import from_campaign
from halfmask.commands._options import AnyMenu, AnyPath, Numbers, command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import Writes, menu_of
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.menus.menu import Menu


QUESTIONS = {
    "recipient": "Who receives the reports?",
    "purpose": "What are the totals for?",
    "keeps": "What is kept, and how long?",
    "contact": "How does a household leave, and whom can it ask?",
}


class Leaflet(Writes):
    """Options of `leaflet`.

    Parameters
    ----------
    menu
        An offer or a menu.
    output
        The page to write (HTML); it works offline.
    language
        en or de.
    rewards
        The reward of each level: A=5,B=4,N=10.
    currency
        The unit of the rewards, such as 'EUR a month'.
    unit
        Unit of a reading, for the words; the menu's by default.
    recipient
        Who receives the reports. What is missing of this and the next three is asked for on a terminal, or left out.
    purpose
        The purpose of the totals.
    keeps
        What is kept, and how long.
    contact
        How to leave, and whom to ask.
    campaign
        A campaign as it is offered, or as the service shows it (JSON): it gives purpose and what is kept.
    """

    menu: AnyMenu = field(kw_only=False)
    language: Literal["en", "de"] = "en"
    rewards: Numbers | None = None
    currency: str = ""
    unit: str = ""
    recipient: str = ""
    purpose: str = ""
    keeps: str = ""
    contact: str = ""
    campaign: AnyPath | None = None

    def save(self, made: str, path: Path) -> None:
        from halfmask.files import whole_file

        with whole_file(path) as temporary:
            temporary.write_text(made, encoding="utf-8")

    def check_together(self) -> None:
        if self.currency and self.rewards is None:
            raise OptionError("a currency is that of rewards: give `rewards` too")


@command(Leaflet, group="Show")
def leaflet(options: Leaflet) -> str:
    """Write one offline page for households: a day as others see it under each choice. Returns the page's text."""
    from halfmask.choice.mix import parse_shares
    from halfmask.pages.leaflet import leaflet as make_page

    menu = menu_of(options.menu)
    menu.check_publishable()
    rewards = parse_shares(options.rewards, "rewards") if isinstance(options.rewards, str) else options.rewards
    paid = {id: f"{amount:g} {options.currency}".strip() for id, amount in (rewards or {}).items()}
    return make_page(menu, language=options.language, rewards=paid, unit=options.unit, sender=sender(options, menu))


def sender(options: Leaflet, menu: "Menu") -> dict[str, str]:
    """Return what is known of the sender: from the options, else from the campaign."""
    from halfmask.pages.leaflet import SENDER, kept_words

    told = {name: getattr(options, name) for name in SENDER}
    if options.campaign is not None:
        offered = _offered(options.campaign, menu)
        told["purpose"] = told["purpose"] or str(offered["purpose"])
        told["keeps"] = told["keeps"] or kept_words(str(offered.get("keep_reports")), options.language)
    return told


def _offered(path: "AnyPath", menu: "Menu") -> dict[str, Any]:
    """Return a campaign.

    Raise an error if it has another menu, because the leaflet would then promise other settings.
    """
    from halfmask.mechanisms.setting import PrivacySetting

    def take(plain: dict[str, Any]) -> tuple[dict[str, Any], dict[str, PrivacySetting]]:
        plain["purpose"]
        return plain, {each["id"]: PrivacySetting.parse(each["setting"]) for each in plain["menu"]["settings"]}

    plain, theirs = from_campaign(path, "a purpose and a menu", take)
    ours = {each.id: each.setting for each in menu.settings}
    wrong = [id for id, setting in theirs.items() if ours.get(id) != setting]
    if wrong:
        raise OptionError(
            f"the campaign's {', '.join(wrong)} is not what the menu has by that name: take the campaign's own menu",
            kind="menu",
            place=str(path),
        )
    return plain


def main(options: Leaflet) -> None:
    """Write one offline page for households: the choice, what each level promises and pays, and what it reveals."""
    from halfmask.figures.wording import in_a_list

    from_campaign = ("purpose", "keeps") if options.campaign else ()
    unknown = [name for name in QUESTIONS if not getattr(options, name) and name not in from_campaign]
    if unknown and sys.stdin.isatty():
        said: dict[str, Any] = {name: input(f"{QUESTIONS[name]} ").strip() for name in unknown}
        options = replace(options, **said)
        unknown = [name for name in unknown if not getattr(options, name)]
    leaflet(options)
    if unknown:
        note(f"the page does not say who asks: add {in_a_list([f'`{name}`' for name in unknown])}")
