"""``python -m reproduction OUT.md NAME=SOURCE ...``."""

import sys

from halfmask.errors import HalfmaskError, InputError, OptionError
from reproduction.run import reproduce


def main(words: list[str]) -> int:
    """Check the paper's claims on the named sources; ends with 0, or with an error's exit code."""
    try:
        output, panels = parse(words)
        claims = reproduce(panels, output, tell=_tell)
    except HalfmaskError as error:
        _tell(f"halfmask: {error}")
        return 2 if isinstance(error, InputError) else 1
    for each in claims:
        _tell(f"{each.verdict}: {each.text}")
    _tell(f"wrote {output}")
    return 0


def parse(words: list[str]) -> tuple[str, dict[str, str]]:
    """The page to write, and sources by name."""
    if not words:
        raise OptionError("nothing to write: python -m reproduction OUT.md NAME=SOURCE ...")
    panels: dict[str, str] = {}
    for word in words[1:]:
        name, equals, source = word.partition("=")
        if not (name and equals and source) or name in panels:
            raise OptionError(f"'{word}' is not NAME=SOURCE with a name of its own: write homes=readings.parquet")
        panels[name] = source
    return words[0], panels


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
