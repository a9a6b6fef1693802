"""Prio3Sum's verifiers in compiled code, many reports at a time: the same bytes as `halfmask_device.prio3` gives.

All numbers are unsigned integers of 64 bits. With p = 2^64 - 2^32 + 1, 2^64 is 2^32 - 1 and 2^96 is -1 modulo p, so a
product of 128 bits is reduced by one multiplication of 32 bits and two corrections.
"""

import numba
import numpy as np

from halfmask_device.prio3.field64 import MODULUS
from halfmask_device.prio3.turboshake import RATE, ROUND_CONSTANTS

_P = np.uint64(MODULUS)
_WRAP = np.uint64(2**32 - 1)
"""2^64 modulo p, and also the mask of the lower half of a word."""
_HALF, _ALL = np.uint64(32), np.uint64(64)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_ROUNDS = np.array(ROUND_CONSTANTS[-12:], np.uint64)
_WORDS = RATE // 8


def _moves() -> tuple[list[int], list[int]]:
    """Return the source of each lane under pi after rho, and how far it is rotated."""
    source, turn = [0] * 25, [0] * 25
    x, y = 1, 0
    for step in range(24):
        to = y + 5 * ((2 * x + 3 * y) % 5)
        source[to], turn[to] = x + 5 * y, (step + 1) * (step + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return source, turn


_SOURCE, _TURN = np.array(_moves()[0]), np.array(_moves()[1], np.uint64)


@numba.njit(nogil=True, cache=True, inline="always")
def _added(a, b):  # type: ignore[no-untyped-def]
    total = a + b
    if total < a:
        total += _WRAP
    return total - _P if total >= _P else total


@numba.njit(nogil=True, cache=True, inline="always")
def _subtracted(a, b):  # type: ignore[no-untyped-def]
    return a - b if a >= b else a - b + _P


@numba.njit(nogil=True, cache=True)
def _multiplied(a, b):  # type: ignore[no-untyped-def]
    a0, a1, b0, b1 = a & _WRAP, a >> _HALF, b & _WRAP, b >> _HALF
    lowest, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (lowest >> _HALF) + (left & _WRAP) + (right & _WRAP)
    low = (lowest & _WRAP) | (middle << _HALF)
    high = a1 * b1 + (left >> _HALF) + (right >> _HALF) + (middle >> _HALF)
    least = low - (high >> _HALF)  # 2^96 is -1
    if low < (high >> _HALF):
        least -= _WRAP
    total = least + (high & _WRAP) * _WRAP  # 2^64 is 2^32 - 1
    if total < least:
        total += _WRAP
    return total - _P if total >= _P else total


@numba.njit(nogil=True, cache=True)
def _keccak(state, columns, moved):  # type: ignore[no-untyped-def]
    """Apply Keccak-p[1600, 12] to 25 lanes in place; the other arrays are scratch space of 5 and 25 words."""
    for number in range(12):
        for x in range(5):
            columns[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20]
        for x in range(5):
            after = columns[(x + 1) % 5]
            change = columns[(x + 4) % 5] ^ ((after << _ONE) | (after >> np.uint64(63)))
            for y in range(5):
                state[x + 5 * y] ^= change
        moved[0] = state[0]
        for to in range(1, 25):
            lane, turn = state[_SOURCE[to]], _TURN[to]
            moved[to] = (lane << turn) | (lane >> (_ALL - turn))
        for y in range(0, 25, 5):
            for x in range(5):
                state[x + y] = moved[x + y] ^ (~moved[(x + 1) % 5 + y] & moved[(x + 2) % 5 + y])
        state[0] ^= _ROUNDS[number]


@numba.njit(nogil=True, cache=True)
def _absorbed(message, state, columns, moved):  # type: ignore[no-untyped-def]
    """Start the sponge and take in the bytes of a padded message."""
    state[:] = _ZERO
    words = message.view(np.uint64)
    for start in range(0, words.size, _WORDS):
        for i in range(_WORDS):
            state[i] ^= words[start + i]
        _keccak(state, columns, moved)


@numba.njit(nogil=True, cache=True)
def drawn_elements(state, found, columns, moved):  # type: ignore[no-untyped-def]
    """Fill ``found`` with the next elements of the sponge: its words, without those from p upwards."""
    place = have = 0
    while have < found.size:
        if place == _WORDS:
            _keccak(state, columns, moved)
            place = 0
        if state[place] < _P:
            found[have] = state[place]
            have += 1
        place += 1


@numba.njit(nogil=True, cache=True)
def _value_at(values, step, nodes, point, factor):  # type: ignore[no-untyped-def]
    """Return a polynomial at a point, from its values at every ``step``-th node; zeros that follow may be left out."""
    total, before = _ZERO, _ONE
    for i in range(nodes.size // step):
        node = nodes[i * step]
        distance = _subtracted(node, point)
        total = _multiplied(total, distance)
        if i < values.size:
            total = _added(total, _multiplied(_multiplied(before, node), values[i]))
        before = _multiplied(before, distance)
    return _multiplied(total, factor)


@numba.njit(nogil=True, cache=True)
def queried(share, random, weights, nodes, factors, wire, gadget, verifier):  # type: ignore[no-untyped-def]
    """Write a share's verifier and return its number, and whether the random point is allowed.

    ``share`` is the elements of the measurement, the wire's seed and the gadget polynomial without its last value;
    ``nodes`` are the points of the gadget polynomial, and every other one is a point of the wire polynomial. ``wire``
    and ``gadget`` are scratch space.
    """
    bits, point = weights.size, random[random.size - 1]
    power, raised = point, 1
    while raised < nodes.size // 2:
        power, raised = _multiplied(power, power), 2 * raised
    last, number, reduced = _ZERO, _ZERO, _ZERO
    for i in range(nodes.size - 1):
        gadget[i] = share[bits + 1 + i]
        last = _added(last, _multiplied(gadget[i], nodes[i]))
    gadget[nodes.size - 1] = _multiplied(_subtracted(_ZERO, last), nodes[1])
    wire[0] = share[bits]
    for i in range(bits):
        wire[i + 1] = share[i]
        number = _added(number, _multiplied(weights[i], share[i]))
        value = gadget[2 * i + 2]
        reduced = _added(reduced, _multiplied(random[i], value) if bits > 1 else value)
    verifier[0] = reduced
    verifier[1] = _value_at(wire, 2, nodes, point, factors[0])
    verifier[2] = _value_at(gadget, 1, nodes, point, factors[1])
    return number, power != _ONE


@numba.njit(nogil=True, cache=True)
def verifiers(leading, shares, nonces, messages, starts, weights, nodes, factors):  # type: ignore[no-untyped-def]
    """Return numbers, verifiers (reports, 3) and whether each share can be used, of many reports.

    ``shares`` are the elements of the leader's shares, or the 32 bytes of the helper's seeds as words. ``messages`` are
    the padded messages of the three expansions (query, measurement, proof) as bytes, and ``starts`` the places of nonce
    or seed in them; ``weights`` has one entry per bit.
    """
    reports, bits = nonces.shape[0], weights.size
    numbers, found, usable = (
        np.zeros(reports, np.uint64),
        np.zeros((reports, 3), np.uint64),
        np.zeros(reports, np.bool_),
    )
    state, columns, moved = np.zeros(25, np.uint64), np.zeros(5, np.uint64), np.zeros(25, np.uint64)
    random, share = np.zeros(bits + 1 if bits > 1 else 1, np.uint64), np.zeros(bits + nodes.size, np.uint64)
    wire, gadget = np.zeros(bits + 1, np.uint64), np.zeros(nodes.size, np.uint64)
    query, measurement, proof = messages[0].copy(), messages[1].copy(), messages[2].copy()
    seeds = shares.view(np.uint8)
    for report in range(reports):
        readable = True
        if leading:
            for i in range(share.size):
                share[i] = shares[report, i]
                readable &= share[i] < _P
        else:
            measurement[starts[1] : starts[1] + 32] = seeds[report]
            _absorbed(measurement, state, columns, moved)
            drawn_elements(state, share[:bits], columns, moved)
            proof[starts[2] : starts[2] + 32] = seeds[report]
            _absorbed(proof, state, columns, moved)
            drawn_elements(state, share[bits:], columns, moved)
        if not readable:
            continue
        query[starts[0] : starts[0] + 16] = nonces[report]
        _absorbed(query, state, columns, moved)
        drawn_elements(state, random, columns, moved)
        numbers[report], usable[report] = queried(share, random, weights, nodes, factors, wire, gadget, found[report])
    return numbers, found, usable


@numba.njit(nogil=True, cache=True)
def decided(mine, theirs):  # type: ignore[no-untyped-def]
    """Return for each report whether two verifiers, (reports, 3), add up to a proof that holds."""
    valid = np.zeros(mine.shape[0], np.bool_)
    for report in range(mine.shape[0]):
        if max(theirs[report, 0], theirs[report, 1], theirs[report, 2]) < _P:
            wire, gadget = _added(mine[report, 1], theirs[report, 1]), _added(mine[report, 2], theirs[report, 2])
            zero = _added(mine[report, 0], theirs[report, 0]) == _ZERO
            valid[report] = zero and _multiplied(_subtracted(wire, _ONE), wire) == gadget
    return valid
