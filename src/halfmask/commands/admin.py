"""``halfmask admin``: what an operator does with consumers, campaigns, producers, nodes and entries."""

import getpass
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from halfmask.commands._options import Flag, Whole, command
from halfmask.commands._printing import note, print_json, print_rows
from halfmask.commands._shared_options import OfService
from halfmask.errors import OptionError

ASKED = ("expel", "readmit", "end", "delete", "erase", "reverse")
"""Actions that cannot be undone."""
LONGEST = 200
"""Most characters of a reason."""


class Admin(OfService):
    """Options of `admin`.

    Parameters
    ----------
    action
        list, show, add, add-node, revoke, expel, readmit, end, delete, erase or reverse.
    name
        For list what is listed: consumers, campaigns, producers, nodes, invitations or the log of actions. For add the
        new consumer's name, for add-node the new node's. Else the name of what the action is about.
    campaign
        List only what belongs to this campaign; for add-node the node's campaign.
    after
        List what comes after this name.
    limit
        List at most so many.
    reason
        Why, for the log of actions.
    yes
        Do not ask before an action that cannot be undone.
    json
        Print JSON.
    """

    action: Literal[
        "list", "show", "add", "add-node", "revoke", "expel", "readmit", "end", "delete", "erase", "reverse"
    ] = field(kw_only=False)
    name: str = field(kw_only=False)
    campaign: str | None = None
    after: str = ""
    limit: Whole = 100
    reason: str = ""
    yes: Flag = False
    json: Flag = False

    def check_together(self) -> None:
        from halfmask.service.operator_actions import LISTS

        if self.action == "list" and self.name not in LISTS:
            raise OptionError(
                f"there is no list of {self.name!r}: name one of {', '.join(LISTS)}", kind="list", field="name"
            )
        if self.action == "add-node" and self.campaign is None:
            raise OptionError("a node belongs to a campaign: name `campaign`", kind="campaign", field="campaign")
        if self.limit < 1:
            raise OptionError(f"a `limit` of {self.limit} lists nothing: use 1 or more", kind="limit")
        if len(self.reason) > LONGEST:
            raise OptionError(f"the `reason` is longer than {LONGEST} characters: shorten it", kind="reason")


@command(Admin, group="Share: service")
def admin(options: Admin) -> Any:
    """Return the rows of a list, what is known of one name, or what an action did. It works on the database."""
    from halfmask.service.operator_actions import Operator, operate

    def work(operator: Operator) -> Any:
        if options.action == "list":
            return operator.listed(options.name, options.campaign, options.after, options.limit)
        if options.action == "show":
            return operator.shown(options.name)
        if options.action == "add":
            return operator.add_consumer(options.name)
        if options.action == "add-node":
            return operator.add_node(options.name, options.campaign or "")
        act: dict[str, Callable[[str], Any]] = {
            "revoke": operator.revoke, "expel": operator.expel,
            "readmit": operator.readmit, "end": operator.end, "delete": operator.delete,
            "erase": operator.erase, "reverse": operator.reverse,
        }  # fmt: skip
        return act[options.action](options.name)

    return operate(options.db, _actor(), options.reason, work)


def _actor() -> str:
    """Return the name of this machine's user, as far as it has one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def main(options: Admin) -> None:
    """List and inspect what a service holds; make consumers; expel, revoke, end, delete, reverse and erase."""
    if options.action in ASKED and not options.yes and not _agreed(options):
        note("nothing was done")
        return
    found = admin(options)
    if options.json:
        print_json(found)
    elif options.action == "list":
        print_rows([tuple(found[0]), *(tuple(map(_cell, row.values())) for row in found)] if found else [("none",)])
        if len(found) == options.limit:
            note(f"more may follow: --after {next(iter(found[-1].values()))}")
    elif options.action == "add":
        print(found["token"])
        note(f"this is the token of consumer {found['consumer']}; it is shown once and not stored")
        note("set HALFMASK_TOKEN to it, then: halfmask campaign offer.json --service ADDRESS ...")
    elif options.action == "add-node":
        print(found["token"])
        note(f"this is the token of node {found['node']}; it is shown once and not stored")
        note("on the gateway, set HALFMASK_SERVE_UPSTREAM_TOKEN to it, then: halfmask serve --upstream ADDRESS")
    elif options.action == "readmit":
        print(found["token"])
        note(f"this is the new token of producer {found['producer']}; it is shown once and not stored")
        note("on the device, set HALFMASK_TOKEN to it, then: halfmask join ADDRESS --readmitted")
    else:
        print_rows([("field", "value"), *((name, _cell(value)) for name, value in found.items())])


def _agreed(options: Admin) -> bool:
    if not sys.stdin.isatty():
        raise OptionError(f"{options.action} cannot be undone: say `yes`", kind="yes", field="yes")
    print(f"{options.action} {options.name} cannot be undone. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _cell(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False)
    return "-" if value is None else str(value)
