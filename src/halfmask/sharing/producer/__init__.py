"""Masking on the producer's own device, with nothing but Python's standard library.

Readings and noise are integers on a published lattice; chance comes from the operating system alone; the same reading
always gives the same report. `Producer` masks readings, `mask_csv` a stream of them; `noise` and `outputs` show the
sampler to an audit.
"""

from halfmask.sharing.producer.backends import Backend
from halfmask.sharing.producer.entropy import Entropy
from halfmask.sharing.producer.lattice import Lattice
from halfmask.sharing.producer.producer import Producer, noise, outputs
from halfmask.sharing.producer.setting import DeviceSetting
from halfmask.sharing.producer.state import State
from halfmask.sharing.producer.stream import mask_csv
from halfmask.sharing.producer.terms import Asked, Terms, agree

__all__ = [
    "Asked",
    "Backend",
    "DeviceSetting",
    "Entropy",
    "Lattice",
    "Producer",
    "State",
    "Terms",
    "agree",
    "mask_csv",
    "noise",
    "outputs",
]
