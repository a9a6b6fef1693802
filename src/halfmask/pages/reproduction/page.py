"""Claims as a page of Markdown."""

from collections.abc import Mapping, Sequence

from halfmask.pages.reproduction.claim import Claim

KNOWN = {
    "stand-in": "drawn by `halfmask synth` after published figures of the paper's data, which is given out on signed "
    "request only",
    "swiss": "the Swiss households (537 homes, 49 days; CC BY-SA 4.0, cran/ResidentialEnergyConsumption)",
}

HEAD = """# The paper's claims, measured

This page is written by a command. Each claim of the paper is measured on every dataset below from the tables that
`profile`, `evaluate`, `optimize` and `mix` make; what theory alone would decide is measured by masking readings one by
one. What counts as holding stands in the docstring of each measure (`src/halfmask/pages/reproduction`); no setting,
grid or weight was fitted to agree.
"""

AGAIN = """## How to recreate this page

```sh
halfmask synth -o stand-in.parquet --users 6435 --days 536 --seed 1
python -m halfmask.pages.reproduction docs/reproduction.md stand-in=stand-in.parquet swiss=HOUSEHOLDS.parquet
```

`HOUSEHOLDS.parquet` is a file of your own with one row a reading (`user`, `time`, `value`); any source that
`halfmask profile` reads will do, under any name. For each: `profile` (day), `evaluate` (grid `paper`, default sizes,
3 repeats, seed 7), `optimize`, `mix` (step 0.125, 10 repeats), then 200 users' readings masked directly.
The same versions and sources give the same page, byte for byte.
"""


def page(parts: Mapping[str, Sequence[Claim]], about: Mapping[str, str]) -> str:
    """The whole page: datasets, verdicts at a glance, every claim by part, and how to recreate it."""
    lines = [HEAD, "## Datasets\n", *(_dataset(name, text) for name, text in about.items()), ""]
    lines += ["## At a glance\n", "| | claim | verdict |", "|---|---|---|"]
    numbered = [(part, each) for part, claims in parts.items() for each in claims]
    lines += [f"| {number} | {each.text} | {each.verdict} |" for number, (_, each) in enumerate(numbered, 1)]
    last = None
    for number, (part, each) in enumerate(numbered, 1):
        if part != last:
            lines.append(f"\n## {part}")
            last = part
        lines.append(_section(number, each))
    return "\n".join([*lines, AGAIN])


def _dataset(name: str, text: str) -> str:
    known = f"{KNOWN[name]}. " if name in KNOWN else ""
    return f"- **{name}**: {known}{text[0].upper()}{text[1:]}."


def _section(number: int, each: Claim) -> str:
    told = [f"- {name}: {measured}" for name, measured in each.measured.items()]
    if len(told) > 1 and len(set(each.measured.values())) == 1:
        told = [f"- every dataset: {next(iter(each.measured.values()))}"]
    why = [f"\n{'Why' if each.verdict != 'holds' else 'Note'}: {each.why}"] if each.why else []
    return "\n".join([f"\n### {number}. {each.verdict.capitalize()}\n", f"> {each.text}\n", *told, *why, ""])
