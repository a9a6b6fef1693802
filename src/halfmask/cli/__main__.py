"""``python -m halfmask.cli`` is the program."""

from halfmask.cli import main

main()
