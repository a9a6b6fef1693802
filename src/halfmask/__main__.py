"""``python -m halfmask`` is the program."""

from halfmask.commands._program import main

main()
