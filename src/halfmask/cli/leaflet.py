"""``halfmask leaflet``."""

from halfmask.cli.output import note
from halfmask.commands.leaflet import Leaflet
from halfmask.commands.leaflet import leaflet as make_page


def leaflet(options: Leaflet) -> None:
    """One offline page for households: their evening as others see it under each choice, and what that tells."""
    make_page(options)
    note(f"wrote {options.output}")
