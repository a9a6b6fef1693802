"""A consumer agent that learns what to pay."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import HalfmaskError, OptionError
from halfmask.rewards.asked_panel import AskedPanel
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.rewards.reward_design import designed
from halfmask.rewards.reward_fit import fit_choices, grouped
from halfmask.rewards.reward_search import Problem, best

BEYOND = 2


@dataclass
class SimulatedConsumer:
    """A consumer that pays, observes, learns, and adapts rewards within its budget.

    ``most`` is the largest reward of the days from which it learns.
    """

    ids: tuple[str, ...]
    privacy: FloatArray
    panel: AskedPanel
    budget: float
    most: int
    explore: int
    rng: np.random.Generator
    tell: Callable[[str], None]
    paid: list[FloatArray] = field(default_factory=list)
    seen: list[FloatArray] = field(default_factory=list)
    model: ChoiceModel | None = None

    def first(self) -> list[dict[str, int]]:
        """Return rewards, drawn at random, for the days from which it learns."""
        drawn = designed(len(self.ids), max(self.explore, 2), 0, self.most, self.rng)
        return [dict(zip(self.ids, map(int, row), strict=True)) for row in drawn]

    def observe(self, rewards: Mapping[str, float], counts: Mapping[str, int]) -> None:
        """Record what a closed period paid and how many producers took each setting."""
        self.paid.append(np.array([rewards.get(id, 0.0) for id in self.ids]))
        self.seen.append(np.array([counts.get(id, 0) for id in self.ids], float))

    def learn(self) -> ChoiceModel | None:
        """Return the model that fits all observations so far; None if there are too few."""
        rows = [(paid, seen) for paid, seen in zip(self.paid, self.seen, strict=True) if seen.sum()]
        if len(rows) < 2:
            return None
        paid, seen = (np.array(each) for each in zip(*rows, strict=True))
        try:
            found = fit_choices(grouped(paid, seen, self.privacy, self.panel.producers), mixed=True)
        except OptionError as error:
            self.tell(f"the consumer learns nothing yet: {error}")
            return None
        self.model = found.model
        return self.model

    def pay(self, left: float, days: int) -> dict[str, int] | None:
        """Return whole rewards that are expected to spend the rest of the budget evenly; None to keep the rewards.

        No reward is above `BEYOND` times the largest that it learned from, because it cannot know the effect of larger
        ones. If part of the budget is left at the end, the consumer keeps it.
        """
        model = self.learn()
        if model is None or days < 1:
            return None
        per_report = max(left, 0.0) / (days * self.panel.producers * self.panel.reports)
        try:
            paid = best(Problem(self.panel, model.population(self.privacy), self.privacy, per_report)).rewards
        except HalfmaskError as error:
            self.tell(f"the consumer keeps its rewards: {error}")
            return None
        whole = np.floor(np.minimum(paid, BEYOND * self.most))
        return dict(zip(self.ids, (int(each) for each in whole), strict=True))
