"""What an operator demands of every campaign of the service, whoever makes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halfmask.service.campaign import lattice_noise
from halfmask.service.refusal import unfit
from halfmask_device.lattice import Lattice


@dataclass(frozen=True)
class Floors:
    """The operator's floors. Campaigns that were made before a floor was set keep their terms.

    ``least_producers``  the least `least_producers` of a campaign
    ``open_settings``    whether a menu may have settings without noise, or with so little that a report is most often
                         the reading itself
    ``live``             whether a campaign may show open periods
    """

    least_producers: int = 1
    open_settings: bool = True
    live: bool = True

    def check(self, terms: Mapping[str, Any]) -> None:
        """Refuse checked terms that are below a floor."""
        if terms["least_producers"] < self.least_producers:
            raise unfit("least_producers", f"this service takes campaigns from {self.least_producers} producers on")
        step = Lattice(**terms["lattice"]).unit
        noises = [lattice_noise(each["setting"], step) for each in terms["menu"]["settings"]]
        if not self.open_settings and any(2 * noise.law.above(1) < 0.5 for noise in noises):
            raise unfit("menu", "this service takes no setting without noise")
        if terms["live"] and not self.live:
            raise unfit("live", "this service shows no open periods")


NO_FLOORS = Floors()
