"""Options of the service's commands from the environment and from a file; secrets are refused on the command line."""

import os
import stat
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cyclopts import App, Argument, ArgumentCollection, Token
from cyclopts.config import Dict, Env

from halfmask.errors import OptionError

PREFIX = "HALFMASK_SERVE_"
"""What the name of an environment variable begins with; the option's name in capitals follows."""
SECRETS = ("upstream_token", "peer_token")
ADDRESSES = ("db", "mqtt")
"""Options whose addresses may hold a password."""
SHARED = ("db", "config")
"""Options that the service's other commands take from where `serve` has them."""
OTHERS = ("admin", "payout", "suspects")


def configure(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Give options that were not typed their values from the environment, then from the file that `config` names."""
    if commands not in (("serve",), *((name,) for name in OTHERS)):
        return
    named = {argument.field_info.names[0]: argument for argument in arguments if argument.parse}
    for name in (*SECRETS, *ADDRESSES):
        if name in named:
            _refuse_secret(name, named[name])
    kept = {name: named[name] for name in SHARED if name in named}
    if commands == ("serve",):
        Env(PREFIX, command=False)(app, commands, arguments)
    else:
        for name, argument in kept.items():
            value = os.environ.get(PREFIX + name.upper())
            if value is not None and not argument.tokens:
                argument.append(Token(keyword=PREFIX + name.upper(), value=value, source="env"))
    if "config" in named and named["config"].tokens:
        path = named["config"].tokens[0].value
        plain = _read(Path(path))
        if commands != ("serve",):
            plain = {name: value for name, value in plain.items() if name in kept}
        Dict(plain, source=path, use_commands_as_keys=False)(app, commands, arguments)


def _refuse_secret(name: str, argument: Argument) -> None:
    """Raise an OptionError for a secret that was typed: everybody on the machine can read a command line."""
    for token in argument.tokens:
        if token.source == "cli" and (name in SECRETS or _password(token.value)):
            what = f"`{name}`" if name in SECRETS else f"the password in `{name}`"
            raise OptionError(
                f"{what} is a secret, and others can read a command line: set {PREFIX}{name.upper()} in the "
                f"environment, or write `{name}` into the file that `config` names",
                kind="secret",
                field=name,
            )


def _password(address: str) -> bool:
    try:
        return bool(urlsplit(address).password)
    except ValueError:
        return False


def _read(path: Path) -> dict[str, Any]:
    """Return the file's options. Raise an OptionError if it is not TOML, or if others can read secrets in it."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
        mode = path.stat().st_mode
    except OSError as error:
        raise OptionError(f"`config` {path} cannot be read: {error.strerror}", kind="config", field="config") from error
    except ValueError as error:  # also text that is not UTF-8
        raise OptionError(f"`config` {path} is not TOML: {error}", kind="config", field="config") from error
    secret = [name for name in SECRETS if plain.get(name)]
    secret += [name for name in ADDRESSES if isinstance(plain.get(name), str) and _password(plain[name])]
    if secret and mode & stat.S_IROTH:
        raise OptionError(
            f"everybody on this machine can read {secret[0]} in {path}: chmod 640 {path}", kind="config", field="config"
        )
    return plain
