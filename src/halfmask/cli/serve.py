"""``halfmask serve``."""

import json
from dataclasses import replace

from halfmask.cli.output import note
from halfmask.commands.serve import Serve
from halfmask.commands.serve import serve as run

DEFAULTS = Serve()


def serve(options: Serve = DEFAULTS) -> None:
    """The live service: masked reports in, aggregates with error bars out. SIGTERM or Ctrl-C ends it cleanly."""
    if options.mqtt_acl:
        print(run(options), end="")
        return
    if options.init:
        _say_token(run(options), options)
        return
    if options.host not in ("127.0.0.1", "localhost", "::1"):
        note(f"listening on {options.host} without encryption: put a proxy that speaks TLS before it")
    run(replace(options, tell=_say_address))
    note("stopped; what was accepted is on disk")


def _say_token(token: str | None, options: Serve) -> None:
    if options.json:
        print(json.dumps({"token": token}))
        return
    if token is None:
        note("the tables are up to date; the operator's token stays as it is")
        return
    print(token)
    db = "" if options.db == DEFAULTS.db else f" --db {_without_password(options.db)}"
    note("this is the operator's token; it is shown once and not stored. Keep it, then run:")
    note(f"  halfmask serve{db}")


def _without_password(db: str) -> str:
    from sqlalchemy.engine import make_url

    return make_url(db).render_as_string(hide_password=True)


def _say_address(address: str) -> None:
    """The address on standard output, and what to do next beside it."""
    print(address, flush=True)
    note("what to do next, with the operator's token of 'halfmask serve --init':")
    note(f"""  curl -X POST {address}/v1/consumers -H "Authorization: Bearer OPERATOR" -d '{{"name": "utility"}}'""")
    note(f"""  curl -X POST {address}/v1/campaigns -H "Authorization: Bearer CONSUMER" -d @campaign.json""")
    note(f"  halfmask join {address}   # on a producer's device")
    note("Ctrl-C ends the service; docs/operating.md has a complete campaign.json, docs/protocol.md every path")
