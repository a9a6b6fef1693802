"""Masking and sharing on the producer's own device, with nothing but Python's standard library.

Readings and noise are integers on a published lattice; noise follows from the device's secret, so that the same reading
always gives the same report. `Producer` masks readings, `mask_csv` a stream of them; `read_ledger`
says what the reports have told; `noise` and `outputs` show the sampler to an audit. `halfmask_device.sharing`
joins campaigns and sends.
"""

from halfmask_device.lattice import Lattice
from halfmask_device.laws import law_of
from halfmask_device.ledger import Ledger, read_ledger
from halfmask_device.limit import Limit
from halfmask_device.producer import Producer, noise, outputs
from halfmask_device.setting import DeviceSetting
from halfmask_device.state import State
from halfmask_device.stream import mask_csv
from halfmask_device.terms import Asked, Terms, agree

__version__ = "0.2.0"
__all__ = [
    "Asked",
    "DeviceSetting",
    "Lattice",
    "Ledger",
    "Limit",
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
