"""``halfmask demo``."""

from importlib import import_module
from pathlib import Path

from halfmask.commands.demo import Demo

WORDS = {"optimize": {"unit": "kW"}}


DEFAULTS = Demo()


def demo(options: Demo = DEFAULTS) -> None:
    """Everything on a synthetic panel: readings, profile, study, menu, mixes, audit, report."""
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for step in options.steps():
        name = step.command()
        getattr(import_module(f"halfmask.cli.{name}"), name)(step, **WORDS.get(name, {}))
    print(f"open {(folder / 'report.html').resolve()}")
