"""``halfmask demo``."""

from importlib import import_module
from pathlib import Path

from halfmask.commands.demo import Demo

WORDS = {"optimize": {"unit": "kW"}}


DEFAULTS = Demo()


def demo(options: Demo = DEFAULTS) -> None:
    """A synthetic panel through all steps: profile, study, menu, offer, mixes, audits, leaflet, sharing, report."""
    folder = Path(options.folder)
    options.check()
    for step in options.steps():
        name = step.command()
        getattr(import_module(f"halfmask.cli.{name}"), name)(step, **WORDS.get(name, {}))
    print(f"open {(folder / 'report.html').resolve()}")
