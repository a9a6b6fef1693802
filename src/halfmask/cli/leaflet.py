"""``halfmask leaflet``."""

from halfmask.cli.output import note
from halfmask.commands.leaflet import Leaflet
from halfmask.commands.leaflet import leaflet as make_page


def leaflet(options: Leaflet) -> None:
    """One offline page for households: a day as others see it under each choice, and what that tells."""
    make_page(options)
    from_campaign = ("purpose", "keeps") if options.campaign else ()
    blank = [name for name in ("recipient", "purpose", "keeps", "contact") if not getattr(options, name)]
    if left := [f"`{name}`" for name in blank if name not in from_campaign]:
        note(f"lines left blank, to be filled in before households get the page: {', '.join(left)}")
    note(f"wrote {options.output}")
