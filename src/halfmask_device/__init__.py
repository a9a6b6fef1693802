"""Masking on the producer's own device, with nothing but Python's standard library.

Readings and noise are integers on a published lattice; chance comes from the operating system alone; the same reading
always gives the same report. `Producer` masks readings, `mask_csv` a stream of them; `noise` and `outputs` show the
sampler to an audit.
"""

from halfmask_device.lattice import Lattice
from halfmask_device.producer import Producer, noise, outputs
from halfmask_device.setting import DeviceSetting
from halfmask_device.state import State
from halfmask_device.stream import mask_csv
from halfmask_device.terms import Asked, Terms, agree

__all__ = [
    "Asked",
    "DeviceSetting",
    "Lattice",
    "Producer",
    "State",
    "Terms",
    "agree",
    "mask_csv",
    "noise",
    "outputs",
]
