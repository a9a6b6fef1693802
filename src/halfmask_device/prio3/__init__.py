"""Prio3 (draft-irtf-cfrg-vdaf-20): numbers in shares that prove their range, in the standard library alone."""

from halfmask_device.prio3.circuits import CountCircuit, SumCircuit
from halfmask_device.prio3.prio3 import Prio3, total

__all__ = ["CountCircuit", "Prio3", "SumCircuit", "total"]
