"""Runs the program as ``python -m halfmask``."""

from halfmask.commands._program import main

main()
