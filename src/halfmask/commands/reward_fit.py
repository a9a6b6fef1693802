"""What producers choose at which rewards, from what they chose."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from halfmask.commands._options import AnyPath, Flag, Options, OutputIfAny, command
from halfmask.errors import SourceError

if TYPE_CHECKING:
    from halfmask.rewards.fit import Choices, Fit

COLUMNS = ("producer", "occasion", "setting", "privacy", "reward", "chosen")


@Parameter(name="*")
@dataclass(frozen=True)
class RewardFit(Options):
    """Options of `reward_fit`.

    Parameters
    ----------
    choices
        A CSV with the columns producer, occasion, setting, privacy, reward, chosen: one row for each setting that a
        producer was offered on an occasion; chosen is 1 for the one it took, and 0 in all rows of one who declined.
    mixed
        Let what privacy is worth differ between producers.
    output
        The model to write (JSON).
    """

    choices: AnyPath
    _: KW_ONLY
    mixed: Flag = False
    output: OutputIfAny = None


@command(RewardFit)
def reward_fit(options: RewardFit) -> "Fit":
    """The model of producers under which their choices are most likely, with standard errors."""
    from halfmask.files import write_page
    from halfmask.rewards.fit import fit

    found = fit(read_choices(options.choices), mixed=options.mixed)
    if options.output is not None:
        write_page(found.model.to_json(), options.output)
    return found


def read_choices(path: "AnyPath") -> "Choices":
    """Choices of a CSV; what cannot be read is a SourceError that names the row."""
    import numpy as np

    from halfmask.choice.requirements import read_rows
    from halfmask.rewards.fit import OUT, Choices

    rows = read_rows(path)
    heads = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    missing = [name for name in COLUMNS if name not in heads]
    if missing:
        raise SourceError(f"{path}: there is no column {missing[0]}; the columns are {', '.join(COLUMNS)}")
    place = {name: heads.index(name) for name in COLUMNS}
    occasions: dict[tuple[str, str], dict[str, tuple[float, float, bool]]] = {}
    for number, row in rows[1:]:
        key, setting, offered = _offered(path, number, row, place)
        offers = occasions.setdefault(key, {})
        if setting in offers:
            raise SourceError(f"{path}, row {number}: setting {setting} stands twice on one occasion of a producer")
        offers[setting] = offered
    settings = sorted({setting for offers in occasions.values() for setting in offers})
    producers = {who: number for number, who in enumerate(sorted({who for who, _ in occasions}))}
    shape = (len(occasions), len(settings))
    held, privacy, reward = np.zeros(shape, bool), np.zeros(shape), np.zeros(shape)
    chosen = np.full(len(occasions), OUT)
    for line, offers in enumerate(occasions.values()):
        for setting, (q, r, taken) in offers.items():
            column = settings.index(setting)
            held[line, column], privacy[line, column], reward[line, column] = True, q, r
            if taken and chosen[line] != OUT:
                who, occasion = list(occasions)[line]
                raise SourceError(f"{path}: producer {who} chose two settings on occasion {occasion}")
            chosen[line] = column if taken else chosen[line]
    people = np.array([producers[key[0]] for key in occasions], dtype=np.int64)
    return Choices(people, chosen, held, privacy, reward)


def _offered(path: Any, number: int, row: list[str], place: dict[str, int]) -> Any:
    if len(row) <= max(place.values()):
        raise SourceError(f"{path}, row {number}: {len(row)} values are too few")
    cell = {name: row[column].strip() for name, column in place.items()}
    try:
        q, r = float(cell["privacy"]), float(cell["reward"])
    except ValueError as error:
        raise SourceError(f"{path}, row {number}: privacy or reward is not a number") from error
    if cell["chosen"] not in ("0", "1"):
        raise SourceError(f"{path}, row {number}: chosen is neither 0 nor 1")
    return (cell["producer"], cell["occasion"]), cell["setting"], (q, r, cell["chosen"] == "1")
