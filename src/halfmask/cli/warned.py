"""Warnings of a menu, repeated after every command that reads it."""

import functools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from halfmask.cli.output import note
from halfmask.commands._options import Options
from halfmask.errors import HalfmaskError

MARK = '"unfit_for_relative": "'
"""What a menu holds whose data relative errors do not suit: without it, none need be read."""


def warned(run: Callable[..., None]) -> Callable[..., None]:
    """Return the command, followed by the warnings of its menu."""

    @functools.wraps(run)
    def called(*args: Any, **kwargs: Any) -> None:
        run(*args, **kwargs)
        options = next((each for each in (*args, *kwargs.values()) if isinstance(each, Options)), None)
        menu = getattr(options, "menu", None)
        if menu is None or not Path(menu).is_file() or MARK not in Path(menu).read_text(encoding="utf-8"):
            return
        from halfmask.menus.menu import read_menu

        with suppress(HalfmaskError):  # a file that is no menu: the command has said so
            for told in read_menu(menu).warnings():
                note(told)

    return called
