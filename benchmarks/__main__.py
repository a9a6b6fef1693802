"""All benchmarks, one after the other; or those named: ``python -m benchmarks profile evaluate device``."""

import sys
from importlib import import_module

NAMES = (
    "commandline",
    "spent",
    "profile",
    "evaluate",
    "accuracy",
    "direct",
    "device",
    "audit",
    "attacks",
    "constants",
    "service",
    "closing",
    "smoothing",
    "calibration",
    "promises",
    "split",
    "split_live",
    "split_services",
    "split_erasing",
    "suspects",
    "first_picture",
)

for name in sys.argv[1:] or NAMES:
    import_module(f"benchmarks.{name}").run()
