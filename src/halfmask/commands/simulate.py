"""``halfmask simulate``: simulate a population of agents against a live service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from cyclopts import Parameter

import halfmask
from halfmask.commands._files import write_csv
from halfmask.commands._options import AnyMenu, AnyPath, AnySource, command
from halfmask.commands._printing import CommandAnswer, live_rows, note
from halfmask.commands._shared_options import IN_SHORT, Display, MayWrite, Seeded, Tells, menu_of
from halfmask.errors import OptionError, SourceError
from halfmask.extras import need
from halfmask_device.decimals import number_text
from halfmask_device.lattice import Lattice
from halfmask_device.setting import SPLIT, TOTAL

if TYPE_CHECKING:
    import pyarrow as pa

    from halfmask.arrays import FloatArray
    from halfmask.menus.menu import Menu
    from halfmask.profiles.profile import Profile
    from halfmask.simulation.simulated_producers import World
    from halfmask.simulation.simulation_result import Row, SimulationResult

    Readings = list[list[list[tuple[str, str]]]]
else:
    Row = Any  # the callback is not an option of the command line

STEP, HIGH = "0.001", "100"
MIXES = 39
"""How many draws of `mix`: one more lies between the least and the largest of them with probability 38/40."""


class Simulate(Seeded, MayWrite, Tells):
    """Options of `simulate`.

    Parameters
    ----------
    producers
        How many producers are asked.
    days
        How many days they share.
    panel
        Readings in kWh, from any source that 'halfmask profile' reads without further options: its first days, and the
        producers with readings on most of them. By default readings are synthetic.
    menu
        The menu they choose from; by default an offer made from their readings.
    budget
        The most that the consumer can pay in all, in the smallest unit of money.
    most_reward
        The largest reward per report while the consumer learns the effect of rewards; later at most twice this.
    take
        The worth of taking part, to a producer.
    worth
        The worth of a unit of privacy, to a producer on average.
    spread
        The standard deviation of that between producers.
    money
        The worth of a unit of money per report, to a producer.
    leaves
        The chance per day that a producer leaves for good.
    offline
        The chance per day that a producer is offline, and sends a day late.
    loses
        The share of messages that are lost on their way.
    liars
        The share of producers who send one number all day.
    service
        The address of a running service; it keeps the real time, so rewards stay as they are.
    operator
        The token of that service's operator.
    folder
        Where devices keep their state; by default a temporary folder.
    output
        One row per day (CSV): rewards, shares of the settings, cost, utility and privacy. A report draws the file if it
        is in the report's folder.
    figure
        The same as a figure (PNG, SVG or PDF).
    seed
        The same seed gives the same producers and consumer; the devices' noise is never the same.
    """

    outputs: ClassVar[tuple[str, ...]] = ("output", "figure")

    producers: int = 1000
    days: int = 30
    panel: AnySource | None = None
    menu: AnyMenu | None = None
    budget: int = 3_000_000
    most_reward: int = 6
    take: float = -1.0
    worth: float = 3.0
    spread: float = 1.0
    money: float = 0.6
    leaves: float = 0.002
    offline: float = 0.05
    loses: float = 0.02
    liars: float = 0.0
    service: str | None = None
    operator: str | None = None
    folder: AnyPath | None = None
    figure: AnyPath | None = None
    watch: Annotated[Callable[[Row], None] | None, Parameter(parse=False, show=False)] = None

    def check_together(self) -> None:
        if self.producers < 1 or self.days < 2:
            raise OptionError("a simulation needs a producer and two days or more", kind="days")
        for name in ("leaves", "offline", "loses", "liars"):
            if not 0 <= getattr(self, name) < 1:
                message = f"{name} {getattr(self, name)} is not a share from 0 to below 1"
                raise OptionError(message, kind="share", field=name)
        if (self.service is None) != (self.operator is None):
            raise OptionError("a running service is named by its address and its operator's token, both")


@dataclass(frozen=True, eq=False)
class Simulated:
    """The outcome of a simulation, and what `mix` gives for its average shares.

    ``result``    the days
    ``mixes``     utilities of `MIXES` draws of `mix`, for as many producers over the same days who keep to one setting;
                  another draw lies between the least and the largest with probability 0.95
    ``suspects``  producers that are proven to have lied; None if nobody lies
    ``proof``     how many equal reports prove it, by setting
    """

    result: "SimulationResult"
    menu: "Menu"
    utility: float
    mixes: "FloatArray"
    suspects: frozenset[str] | None
    proof: Mapping[str, int]

    @property
    def unmasked_liars(self) -> frozenset[str]:
        """Return the liars that only used settings without noise: such a lie cannot be proven."""
        return frozenset(name for name, under in self.result.liars.items() if not under & self.proof.keys())


@command(Simulate, group="Share: service")
def simulate(options: Simulate) -> Simulated:
    """Let agents with data and wishes join, choose, mask, send and react, while the consumer learns what to pay."""
    from contextlib import ExitStack
    from tempfile import TemporaryDirectory

    from halfmask.simulation.simulated_producers import FIRST_DAY
    from halfmask.simulation.simulated_service import Host, hosted
    from halfmask.simulation.simulation import simulate as run
    from halfmask.simulation.simulation_result import frame
    from halfmask_device.protocol import read_instant

    need(*["service"] * (options.service is None), *["pages"] * (options.figure is not None))
    with ExitStack() as stack:
        folder = Path(options.folder or stack.enter_context(TemporaryDirectory(prefix="halfmask-")))
        folder.mkdir(parents=True, exist_ok=True)
        first = FIRST_DAY if options.service is None else date.today() - timedelta(days=options.days)
        profile, readings = panel(folder, options, first)
        menu = chosen_menu(options, profile)
        check_split(options, menu)
        world = world_of(options, menu, readings, first)
        if options.service is not None and options.operator is not None:
            host = Host(options.service, options.operator)
        else:
            before = read_instant(f"{first - timedelta(days=1)}T00:00:00Z")
            host = stack.enter_context(hosted(folder, before, split=menu_splits(menu)))
        result = run(world, host, folder, tell=options.tell or silent, watch=options.watch or silent)
        look = options.liars > 0 and host.db is not None
        found, proof = suspected(host.db or "", result.campaign) if look else (None, {})
    rows = frame(result.rows, menu)
    if options.output is not None:
        write_csv(options.output, [list(rows[0]), *(row.values() for row in rows)])
    if options.figure is not None:
        from halfmask.figures.simulated_days import simulated_data, simulated_plot
        from halfmask.figures.style import save

        save(simulated_plot(simulated_data(rows)).draw(), options.figure)
    mixes = mixed_utilities(profile, menu, result, options.seed)
    return Simulated(result, menu, result.utility(menu), mixes, found, proof)


def world_of(options: Simulate, menu: "Menu", readings: "Readings", first: date) -> "World":
    """Return the world that the options describe."""
    from halfmask.rewards.choice_model import ChoiceModel
    from halfmask.simulation.simulated_producers import Behaviour, World

    return World(
        menu,
        readings,
        ChoiceModel(options.take, options.worth, options.money, options.spread),
        Behaviour(options.leaves, options.offline, options.loses),
        options.liars,
        options.budget,
        options.most_reward,
        lattice_of(menu),
        "kWh",
        options.seed,
        first,
    )


def menu_splits(menu: "Menu") -> bool:
    """Return whether a level of the menu splits totals between two services."""
    return any(each.setting.release == SPLIT for each in menu.settings)


def check_split(options: Simulate, menu: "Menu") -> None:
    """Raise an OptionError for what a menu with a split level cannot be simulated with."""
    if menu_splits(menu) and options.service is not None:
        raise OptionError(
            "the menu has a split level, which needs two services: leave `service` out, and both are started",
            kind="service",
            field="service",
        )
    if menu_splits(menu) and options.liars:
        raise OptionError(
            "no lie can be found in what is split between two services: leave `liars` out", kind="liars", field="liars"
        )


def lattice_of(menu: "Menu") -> "Lattice":
    """Return the lattice that an offer of totals promises about, or one for readings."""
    asked = menu.question
    if asked is None or menu.release != TOTAL:
        return Lattice(STEP, "0", HIGH)
    step = STEP if asked.step is None else number_text(asked.step)
    return Lattice(step, number_text(asked.low), number_text(asked.high))


def panel(folder: Path, options: Simulate, first: date) -> "tuple[Profile, Readings]":
    """Return the profile of the producers' readings, moved to begin on ``first``, and the readings by day, as texts."""
    import duckdb

    given = read_panel(folder, options)  # which the query names
    query = (
        'WITH days AS (SELECT DISTINCT ON ("user", time) "user"::VARCHAR AS "user", value, '
        "make_timestamp(time) AS time, min(make_timestamp(time)::DATE) OVER () AS begins FROM given), "
        'who AS (SELECT "user", count(DISTINCT time::DATE) AS present FROM days GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?) '
        "SELECT \"user\", time + INTERVAL 1 DAY * date_diff('day', begins, "
        f"DATE '{first}') AS time, value FROM days SEMI JOIN who USING (\"user\") ORDER BY 1, 2"
    )
    texts = "SELECT \"user\", strftime(time, '%Y-%m-%dT%H:%M:%SZ'), printf('%.3f', value) FROM shared"
    days: dict[str, dict[str, list[tuple[str, str]]]] = {}
    with duckdb.connect() as connection:
        connection.register("given", given)
        connection.execute(f"CREATE TABLE shared AS {query}", [options.producers])
        rows = connection.sql("FROM shared").to_arrow_table()
        for user, time, value in connection.sql(texts).fetchall():
            days.setdefault(user, {}).setdefault(time[:10], []).append((time, value))
    keys = [(first + timedelta(days=day)).isoformat() for day in range(options.days)]
    return halfmask.profile(rows), [[own.get(key, []) for key in keys] for own in days.values()]


def read_panel(folder: Path, options: Simulate) -> "pa.Table":
    """Return user, time and value of the panel's first days, or of a synthetic panel."""
    import narwhals as nw

    from halfmask.data.open_panel import open_panel
    from halfmask.profiles.periods import DAY

    source = options.panel
    if source is None:  # more than are needed: those with readings on every day are taken first
        source = folder / "panel.parquet"
        halfmask.synth(output=source, users=options.producers * 5 // 4, days=options.days, seed=options.seed)
    found = open_panel(source)
    value = nw.col("value")
    frame = found.frame.filter(~nw.col("user").is_null(), ~nw.col("time").is_null(), value.is_finite())
    earliest = found.collect(frame.select(nw.col("time").min()))["time"][0].as_py()
    if earliest is None:
        raise SourceError(f"{found.source}: there are no readings in it")
    given = found.collect(frame.filter(nw.col("time") < (earliest // DAY + options.days) * DAY))
    if options.tell and options.panel is not None:
        for note in found.notes:
            options.tell(note)
    return given


def chosen_menu(options: Simulate, profile: "Profile") -> "Menu":
    """Return the menu that was given, or an offer made from the readings."""
    if options.menu is not None:
        return menu_of(options.menu)
    study = halfmask.evaluate(profile, grid="laplace:b=0.02..20/0.02", sizes="all", repeats=3)
    return halfmask.offer(profile, study=study, private=0).menu  # type: ignore[no-any-return]


def mixed_utilities(profile: "Profile", menu: "Menu", result: "SimulationResult", seed: int) -> "FloatArray":
    """Return utilities of `mix` for an average day's shares, each for as many users as took part, drawn at random.

    They are a single NaN if nobody took part.
    """
    import numpy as np

    from halfmask.streams import stream

    taking = result.taking()
    people = min(sum(taking.values()), len(profile))
    if not people:
        return np.array([np.nan])
    shares = {id: count / sum(taking.values()) for id, count in taking.items()}
    rng, found = stream(seed, "simulation.mixed"), []
    for draw in range(MIXES):
        some = profile.subset(rng.choice(profile.labels, people, replace=False))
        mixed = halfmask.mix(some, menu, shares=shares, repeats=1, seed=seed + draw, other_data=True)
        found.append(mixed.table.column("utility")[0].as_py())
    return np.array(found)


def suspected(db: str, campaign: str) -> tuple[frozenset[str], Mapping[str, int]]:
    """Return the producers that are proven to have lied about their noise, and how many reports prove it."""
    found, names = halfmask.suspects(campaign, db=db)
    return frozenset(names[each.producer] for each in found.suspects if each.chance is not None), found.needed


def silent(_: object) -> None:
    """Do nothing with a message."""


def main(options: Simulate, *, shown: Display = IN_SHORT) -> None:
    """Simulate a population of producers and a consumer against a live service."""
    from halfmask.plain import to_plain
    from halfmask.simulation.simulation_result import frame

    heads = ["day", "take part", "spent so far", "privacy", "truth", "published", "error", "inside"]
    with live_rows(heads, options.days) as add:
        found = simulate(replace(options, watch=lambda row: add(_shown(row)), tell=note))
    ids, result = found.menu.ids, found.result
    paid = [[f"{row.producers.get(id, 0)} at {row.rewards.get(id, 0)}" for id in ids] for row in result.rows]
    rows = [[*heads, *ids], *([*_shown(row), *of_row] for row, of_row in zip(result.rows, paid, strict=True))]
    means, *words = _outcome(options, found)
    lies = _lies(found) if options.liars and found.suspects is not None else []
    shown.show(
        CommandAnswer(
            to_plain(frame(result.rows, found.menu)),
            [("The published total beside the true one; by setting, producers at its reward per report", rows)],
            means,
            "" if options.figure else f"{options.command_line()} --figure days.png",
            lies[:1],
            words=[*words, *lies[1:]],
        )
    )


def _outcome(options: Simulate, found: "Simulated") -> list[str]:
    """Return the outcome in words: intervals, utility, and what the consumer learned."""
    import numpy as np

    result, mixes, lies = found.result, found.mixes, bool(options.liars)
    held, published = result.held
    meant = f"95 of 100 are meant to{' where nobody lies' * lies}"
    told = [f"{held} of {published} published intervals hold the truth; {meant}."]
    if lies:
        least, most = result.moved
        told.append(
            f"Lies moved a day's total by {least:+.1%} to {most:+.1%}. The sum of what was sent, lies and all, is in "
            f"{result.held_as_sent} of {published}: intervals are about noise, and tell nothing of lies."
        )
    if published:
        told.append(
            f"Utility of the live system{', lies included' * lies}: {max(found.utility, 0):.3f}. 'halfmask mix' of as "
            f"many producers and days, were the average day's shares the same every day{' and nobody lied' * lies}: "
            f"{np.median(mixes):.3f}, {mixes.min():.3f} to {mixes.max():.3f} in 95 of 100 draws."
        )
    if result.learned is not None:
        own, learned = options.worth / options.money, result.learned.price_told()
        told.append(f"A unit of privacy is worth {own:.4g} in money to producers; the consumer learned {learned}.")
    return told


def _lies(found: "Simulated") -> list[str]:
    """Return how many liars were found, and which reports prove a lie."""
    liars, suspected = found.result.liars, found.suspects or frozenset()
    caught, wrongly = len(suspected & liars.keys()), len(suspected - liars.keys())
    bare = len(found.unmasked_liars - suspected)
    proof = ", ".join(f"{id} {count}" for id, count in found.proof.items())
    return [
        f"Of {len(liars)} who lied {caught} are proven to; {bare} claim no noise, so that none is missing; "
        f"{len(liars) - caught - bare} stay hidden. Of the others {wrongly} are suspected.",
        f"Equal reports that are always proof, by setting: {proof}.",
    ]


def _shown(row: "Row") -> list[str]:
    """Return the cells of a day's row."""
    error = "" if row.error is None else f"{row.error:.1%}"
    privacy = "" if row.privacy is None else f"{row.privacy:.2f}"
    inside = {None: "", True: "yes", False: "no"}[row.inside]
    taking, published = f"{sum(row.producers.values()):,}", "withheld"
    if row.estimate is not None and row.high is not None:
        published = f"{row.estimate:,.0f} ± {row.high - row.estimate:,.0f}"
    return [str(row.day + 1), taking, f"{row.spent:,}", privacy, f"{row.truth:,.0f}", published, error, inside]
