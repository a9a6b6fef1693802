"""Named random streams.

A stream is identified by a seed, a name and numbers for its parts (such as a size or a repeat). `NAMES` and `PLAIN`
list the names; those of new attacks may be missing. A name with a key uses that key, so that old studies can be
repeated to the last bit; any other name is hashed. Streams are independent: a new attack, figure or sample does not
change the numbers of another.
"""

import hashlib

import numpy as np

NAMES: dict[str, tuple[int, ...] | None] = {
    "synth.types": (0,),
    "synth.people": (1,),
    "synth.readings": (2,),
    "evaluation.subsets": (0,),
    "evaluation.direct": (1,),
    "evaluation.totals": (2,),
    "evaluation.local": (3,),
    "evaluation.smallest": (7,),
    "evaluation.drawn": None,
    "evaluation.drawn-noise": None,
    "evaluation.cancellation": None,
    "evaluation.split": None,
    "menus.scouts": None,
    "menus.fresh": None,
    "menus.difference": None,
    "menus.synthetic": None,
    "pages.day": None,
    "choice.assignment": (4,),
    "choice.local": (5,),
    "choice.drawn": None,
    "choice.drawn-noise": None,
    "choice.totals": (6,),
    "choice.split": None,
    "choice.advice": (7,),
    "choice.held-out": (8,),
    "rewards.bargain": None,
    "rewards.design": None,
    "rewards.draws": None,
    "service.smoothing": None,
    "service.suspects": None,
    "simulation.consumer": None,
    "simulation.live_demo": None,
    "simulation.producer": None,
    "simulation.mixed": None,
    "testing.mechanism": None,
    "attack.averaging": (9, 0),
    "attack.intersection": (9, 1),
    "attack.smoothing": (9, 2),
    "attack.reconstruction": (9, 3),
    "attack.reidentification": (9, 4),
    "attack.floating_point": (9, 5),
    "attack.guessable_seed": (9, 6),
    "attack.colour": (9, 7),
    "attack.colour.level": (9, 98),
}
PLAIN: dict[str, tuple[int, ...]] = {
    "mechanisms.estimated": (),
    "guarantees.draws": (),
    "reproduction.users": (),
    "reproduction.choices": (2,),
}
"""Streams of numpy's default generator, seeded with (seed, key, parts), so that earlier results can be repeated."""
ATTACK = "attack."


def sequence(seed: int, name: str, *parts: int) -> np.random.SeedSequence:
    """Return the seed sequence of a stream's part."""
    if name not in NAMES and not name.startswith(ATTACK):
        raise KeyError(f"stream {name!r} is not in halfmask.streams.NAMES: add it there")
    known = NAMES.get(name)
    return np.random.SeedSequence(seed, spawn_key=(*(hashed(name) if known is None else known), *parts))


def stream(seed: int, name: str, *parts: int) -> np.random.Generator:
    """Return the random generator of a stream's part."""
    if name in PLAIN:
        return np.random.default_rng([seed, *PLAIN[name], *parts])
    return generator(sequence(seed, name, *parts))


def generator(of: np.random.SeedSequence) -> np.random.Generator:
    """Return the random generator of a seed sequence. Simulations use only this kind of generator."""
    return np.random.Generator(np.random.PCG64DXSM(of))


def hashed(name: str) -> tuple[int, ...]:
    """Return 128 bits of a name's SHA-256, as four words of 32 bits."""
    digest = hashlib.sha256(name.encode()).digest()
    return tuple(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))
