"""Masking and sharing on the producer's device. It needs only Python's standard library.

Readings and noise are integers on a published lattice. Noise is derived from the device's secret, so the same reading
always gives the same report.

    Producer                  masks single readings
    mask_csv                  masks a stream of readings
    read_ledger               bounds what all reports so far have revealed
    noise, outputs            draw from the device's sampler, for an audit
    halfmask_device.sharing   joins campaigns and sends reports
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask_device.csv_stream import mask_csv
    from halfmask_device.device_state import State
    from halfmask_device.lattice import Lattice
    from halfmask_device.privacy_budget import Budget
    from halfmask_device.privacy_ledger import Ledger, read_ledger
    from halfmask_device.producer import Producer, noise, outputs
    from halfmask_device.setting import DeviceSetting, law_of
    from halfmask_device.terms import Asked, Terms, agree

__version__ = "0.2.0"
__all__ = [
    "Asked",
    "Budget",
    "DeviceSetting",
    "Lattice",
    "Ledger",
    "Producer",
    "State",
    "Terms",
    "agree",
    "law_of",
    "mask_csv",
    "noise",
    "outputs",
    "read_ledger",
]

_HOMES = {
    "Asked": "terms",
    "Budget": "privacy_budget",
    "DeviceSetting": "setting",
    "Lattice": "lattice",
    "Ledger": "privacy_ledger",
    "Producer": "producer",
    "State": "device_state",
    "Terms": "terms",
    "agree": "terms",
    "law_of": "setting",
    "mask_csv": "csv_stream",
    "noise": "producer",
    "outputs": "producer",
    "read_ledger": "privacy_ledger",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that a program that needs only the errors imports nothing else."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found
