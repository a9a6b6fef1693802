"""``halfmask serve``: run the live service."""

import json
import re
from dataclasses import fields, replace
from typing import Annotated

from halfmask.commands._configuration import ADDRESSES, PREFIX, SECRETS
from halfmask.commands._options import AnyPath, Flag, Several, Whole, command
from halfmask.commands._printing import note, print_rows
from halfmask.commands._shared_options import OWN_MACHINE, OfService, Tells
from halfmask.errors import OptionError

ORIGIN = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+")


class Serve(OfService, Tells):
    """Options of `serve`.

    Parameters
    ----------
    init
        Make or update the tables, print the operator's token once, and end.
    rotate
        With --init: revoke the operator's token and print a new one.
    restored
        With --init: the database came from a backup. As a helper it then gives no split sums of periods that had ended.
    host
        The address to listen on; by default only this machine can reach it.
    port
        The port to listen on; 0 takes a free one.
    workers
        Processes that serve; more than one needs PostgreSQL or MySQL.
    requests_per_second
        Requests that one token may make in a second, per process; with 0 any number.
    joins_per_minute
        Producers that may join one campaign in a minute, per process; with 0 any number.
    lake
        A folder for reports of closed periods as Parquet, of campaigns that keep reports.
    upstream
        The address of the service above: this service becomes a gateway and sends its cells there.
    upstream_token
        The gateway's token, made by the operator of the service above. Only in the environment or the file.
    peer
        The address of a node with the same campaigns; may be repeated.
    peer_token
        The secrets shared with each `peer`, in their order, 32 random characters or more each. Only in the environment
        or the file.
    mqtt
        A broker from which reports are taken as well: mqtt://USER@HOST:PORT, or mqtts:// for TLS. With a password only
        in the environment or the file.
    mqtt_acl
        Print the access list for Mosquitto, for the user that --mqtt names, and end.
    least_producers
        Take only campaigns that publish sums of at least this many producers.
    refuse_open
        Take no campaign that offers a setting without noise.
    refuse_live
        Take no campaign that shows open periods.
    helper
        The address of a service that may help with split sums of this one's campaigns; may be repeated.
    public_url
        The address under which devices and the other service of split sums reach this one.
    most_epsilon
        Help only with split sums that protect a whole total with at most this epsilon.
    cors
        An origin whose pages may ask from a browser, such as https://meters.example.org; may be repeated.
    access_log
        Log each request: method, path without names, status and seconds.
    retain_days
        Delete what is left of a campaign's producers this many days after its last period; 0 keeps it.
    settle
        Minutes for which the clock must have run steadily, since the start and since it was set, before periods close.
    check_config
        Check the options and the database, print them without secrets, and end.
    json
        With --init: print one line of JSON, {"token": "..."}.
    """

    init: Flag = False
    rotate: Flag = False
    restored: Flag = False
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    requests_per_second: float = 100
    joins_per_minute: float = 1000
    lake: AnyPath | None = None
    upstream: str | None = None
    upstream_token: str | None = None
    peer: Annotated[tuple[str, ...], Several] = ()
    peer_token: Annotated[tuple[str, ...], Several] = ()
    mqtt: str | None = None
    mqtt_acl: Flag = False
    least_producers: Whole = 1
    refuse_open: Flag = False
    refuse_live: Flag = False
    helper: Annotated[tuple[str, ...], Several] = ()
    public_url: str | None = None
    most_epsilon: float = 10.0
    cors: Annotated[tuple[str, ...], Several] = ()
    access_log: Flag = False
    retain_days: Whole = 0
    settle: float = 5
    check_config: Flag = False
    json: Flag = False

    def check_together(self) -> None:
        for name in ("rotate", "restored", "json"):
            if getattr(self, name) and not self.init:
                raise OptionError(f"--{name} goes with --init")
        if not 0 <= self.port < 65536:
            raise OptionError(f"{self.port} is not a valid port: use 1 to 65535, or 0 for a free one")
        if self.requests_per_second < 0 or self.joins_per_minute < 0:
            raise OptionError("a rate limit is negative: name a rate, or 0 for no limit")
        for secret, with_it in (("upstream_token", "upstream"), ("peer_token", "peer")):
            if bool(getattr(self, secret)) != bool(getattr(self, with_it)):
                raise OptionError(
                    f"`{with_it}` needs {secret}, and the other way round: set {PREFIX}{secret.upper()} in the "
                    "environment, or name it in the file that `config` names",
                    kind="token",
                    field=secret,
                )
        if len(self.peer_token) != len(self.peer):
            raise OptionError(
                f"{len(self.peer)} peers have {len(self.peer_token)} tokens: name one for each `peer`, in their order",
                kind="token",
                field="peer_token",
            )
        if self.workers < 1:
            raise OptionError("`workers` must be 1 or more", kind="workers")
        if self.least_producers < 1 or self.retain_days < 0:
            raise OptionError("`least_producers` is at least 1, and `retain_days` at least 0", kind="range")
        if not 0 <= self.settle <= 1440:
            raise OptionError("`settle` is a number of minutes, at most a day", kind="range", field="settle")
        for origin in self.cors:
            if not ORIGIN.fullmatch(origin):
                raise OptionError(
                    f"`cors` {origin!r} is not an origin: write it like https://meters.example.org, without a path",
                    kind="origin",
                    field="cors",
                )
        if self.upstream and self.peer:
            raise OptionError("--upstream and --peer exclude each other: two peers would send the same cells up")


@command(Serve, group="Share: service")
def serve(options: Serve) -> str | None:
    """Run the service until SIGTERM or Ctrl-C; with ``init`` make its database and give the operator's token.

    The token is None if the database had one, and only its tables were updated. ``tell`` receives the address once the
    service listens.
    """
    from halfmask.service.serve import ServeOptions, check_startable, initialise, run

    if options.mqtt_acl:
        from halfmask.service.mqtt import Broker, access_list

        return access_list((Broker.parse(options.mqtt).user if options.mqtt else None) or "halfmask")
    if options.init:
        return initialise(options.db, rotate=options.rotate, restored=options.restored)
    chosen = ServeOptions(
        db=options.db,
        host=options.host,
        port=options.port,
        workers=options.workers,
        requests_per_second=options.requests_per_second or None,
        joins_per_minute=options.joins_per_minute or None,
        lake=None if options.lake is None else str(options.lake),
        upstream=options.upstream,
        upstream_token=options.upstream_token,
        mqtt=options.mqtt,
        peers=tuple(options.peer),
        peer_token=tuple(options.peer_token),
        least_producers=options.least_producers,
        refuse_open=options.refuse_open,
        refuse_live=options.refuse_live,
        helpers=tuple(options.helper),
        public_url=options.public_url,
        most_epsilon=options.most_epsilon,
        origins=tuple(options.cors),
        access_log=options.access_log,
        retain_days=options.retain_days,
        settle=options.settle,
    )
    if options.check_config:
        check_startable(chosen)
        return None
    run(chosen, options.tell or (lambda _: None))
    return None


def main(options: Serve) -> None:
    """Run the live service: masked reports in, aggregates with error bars out. SIGTERM or Ctrl-C ends it cleanly."""
    if options.mqtt_acl:
        print(serve(options), end="")
        return
    if options.init:
        _say_token(serve(options), options)
        return
    if options.check_config:
        serve(options)
        print_rows([("option", "value"), *_chosen(options)])
        note("the options fit together, and the database is there and up to date")
        return
    if options.host not in OWN_MACHINE:
        note(f"listening on {options.host} without encryption: put a proxy that speaks TLS before it")
    serve(replace(options, tell=_say_address))
    note("stopped; what was accepted is on disk")


def _chosen(options: Serve) -> list[tuple[str, str]]:
    """Return the options of a running service, without secrets."""
    found = []
    for each in fields(options):
        value = getattr(options, each.name)
        if each.name in SECRETS:
            value = "(set)" if value else None
        elif each.name in ADDRESSES and value:
            value = _without_password(value)
        if each.name not in ("tell", "init", "rotate", "restored", "json", "mqtt_acl", "check_config"):
            shown = ", ".join(value) if isinstance(value, tuple) else value
            found.append((each.name, "-" if shown in (None, "") else str(shown)))
    return sorted(found)


def _say_token(token: str | None, options: Serve) -> None:
    if options.json:
        print(json.dumps({"token": token}))
        return
    if token is None:
        note("the tables are up to date; the operator's token stays as it is")
        return
    print(token)
    db = "" if options.db == Serve.db else f" --db {_without_password(options.db)}"
    note("this is the operator's token; it is shown once and not stored. Keep it, then serve:")
    note(f"  halfmask serve{db}")


def _without_password(db: str) -> str:
    from sqlalchemy.engine import make_url

    return make_url(db).render_as_string(hide_password=True)


def _say_address(address: str) -> None:
    """Print the address to standard output, and what to do next to standard error."""
    print(address, flush=True)
    note("what to do next:")
    note("  halfmask admin add utility   # with the same --db: makes a consumer, whose token is HALFMASK_TOKEN")
    note(f"  halfmask campaign offer.json --name N --purpose P --begin DATE --end DATE --service {address}")
    note(f"  halfmask join {address} --state mine   # on a producer's device")
    note("Ctrl-C ends the service; docs/operating.md says how to run it for long, docs/protocol.md has every path")
