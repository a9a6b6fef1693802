"""The command of a producer's device."""

from pathlib import Path

from halfmask.cli.app import Flag, app
from halfmask.cli.output import note


@app.command
def mask(
    *,
    state: Path,
    setting: str | None = None,
    menu: Path | None = None,
    step: str | None = None,
    low: str | None = None,
    high: str | None = None,
    time: str | None = None,
    value: str | None = None,
    sensor: str | None = None,
    change: Flag = False,
) -> None:
    """Mask readings on the producer's own device: CSV from standard input, masked CSV to standard output.

    Parameters
    ----------
    state
        Folder of this device's secret, terms and noise: one for each producer. Keep it, and keep it private.
    setting
        A setting (laplace:0.5), or an id of the menu (C). Needed on first use, then remembered.
    menu
        A file that 'halfmask optimize' wrote; its settings are remembered too (menu.json where an id is asked for).
    step
        Step of the published lattice that readings are rounded to and reports lie on (0.001 on first use).
    low
        Least value of the published range; smaller readings count as it (-1000000 on first use, which is hardly one).
    high
        Largest value of the published range; larger readings count as it (1000000 on first use, which is hardly one).
    time
        The column with the times (time on first use).
    value
        The column with the readings, which is masked (value on first use); all other columns pass as they are.
    sensor
        The column that tells sensors apart, where a device has several.
    change
        Share by another setting, menu or columns from here on.
    """
    import sys

    from halfmask_device import Asked, Producer, agree, mask_csv

    columns = {role: name for role, name in (("time", time), ("value", value), ("sensor", sensor)) if name}
    terms = agree(state, Asked(setting, menu, step, low, high, columns), change=change)
    producer = Producer(terms.setting_text, terms.lattice, state)
    if not terms.published:
        note("no range is published, so no change is too large to be hidden: name --low and --high on first use")
    if terms.setting_text == "none":
        note("the setting is none: readings are rounded to the lattice and not masked")
    with open(sys.stdin.fileno(), "rb", closefd=False) as source:
        mask_csv(source, sys.stdout.buffer, producer, **terms.columns)
