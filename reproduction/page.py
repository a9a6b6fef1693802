"""Claims as a page of Markdown."""

from collections.abc import Mapping, Sequence

from reproduction.claim import Claim, Findings, counted, shown

KNOWN = {
    "stand-in": "drawn by `halfmask synth` after published figures of the paper's data, which is given out on signed "
    "request only",
    "swiss": "the Swiss households (537 homes, 49 days; CC BY-SA 4.0, cran/ResidentialEnergyConsumption)",
}

HEAD = """# The paper's claims, measured

This page is written by a command. Each claim of the paper is measured on every dataset below from the tables that
`profile`, `evaluate`, `optimize` and `mix` make; what theory alone would decide is measured by masking readings one by
one. The docstring of each measure (`reproduction/`) says what counts as holding; no setting, grid or
weight was fitted to agree.

Every claim is judged once per seed. Each seed draws its own subsets of users, noise, mixes, and users whose readings
are masked; the readings stay the same. A claim holds if it does on every dataset with every seed, and
does not hold if it fails on every dataset with every seed; otherwise it holds in part. The figures are those of the
first seed with that verdict. All findings by dataset and seed are in [reproduction.json](reproduction.json).
"""

AGAIN = """## How to recreate this page

```sh
halfmask synth -o stand-in.parquet --users 6435 --days 536 --seed 1
python -m reproduction docs/reproduction.md stand-in=stand-in.parquet swiss=HOUSEHOLDS.parquet
```

`HOUSEHOLDS.parquet` is a file of your own with one row a reading (`user`, `time`, `value`); any source that
`halfmask profile` reads will do, under any name. For each: `profile` (day) once, and with each of the seeds 7 to 11
`evaluate` (grid `paper`, default sizes, 3 repeats), `optimize`, `mix` (step 0.125, 10 repeats), then 200 users'
readings masked directly. The same versions and sources give the same page, byte for byte, and the findings in a JSON
file of the same name.
"""


def page(parts: Mapping[str, Sequence[Claim]], about: Mapping[str, str]) -> str:
    """The whole page: datasets, verdicts at a glance, every claim by part, and how to recreate it."""
    lines = [HEAD, "## Datasets\n", *(_dataset(name, text) for name, text in about.items()), ""]
    lines += [
        "## At a glance\n",
        f"| | claim | verdict | {' | '.join(about)} |",
        "|---|---|---" + "|---" * len(about) + "|",
    ]
    numbered = [(part, each) for part, claims in parts.items() for each in claims]
    lines += [_row(number, each) for number, (_, each) in enumerate(numbered, 1)]
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


def _row(number: int, each: Claim) -> str:
    return " | ".join([f"| {number}", each.text, each.verdict, *map(counted, each.findings.values())]) + " |"


def _section(number: int, each: Claim) -> str:
    lines = {name: _measured(findings) for name, findings in each.findings.items()}
    if len(lines) > 1 and len(set(lines.values())) == 1:
        lines = {"every dataset": next(iter(lines.values()))}
    why = [f"\n{'Why' if each.verdict != 'holds' else 'Note'}: {each.why}"] if each.why else []
    told = [f"- {name}: {text}" for name, text in lines.items()]
    return "\n".join([f"\n### {number}. {each.verdict.capitalize()}\n", f"> {each.text}\n", *told, *why, ""])


def _measured(findings: Findings) -> str:
    """The figures of one seed if all agree, else of one seed per verdict; and in how many seeds each came out."""
    counts = counted(findings)
    one, *others = shown(findings).items()
    if not others:
        return f"{one[1].measured} *{counts.capitalize()}.*"
    lines = [f"  - seed {seed}: {each.measured} *{each.verdict.capitalize()}.*" for seed, each in (one, *others)]
    return "\n".join([f"*{counts.capitalize()}.*", *lines])
