"""``halfmask mask``."""

import sys
from dataclasses import replace

from halfmask.cli.output import note
from halfmask.commands.mask import Mask
from halfmask.commands.mask import mask as mask_readings


def mask(options: Mask) -> None:
    """Mask readings on the producer's own device: CSV from standard input, masked CSV to standard output."""
    mask_readings(replace(options, source=sys.stdin.buffer, output=sys.stdout.buffer, tell=note))
