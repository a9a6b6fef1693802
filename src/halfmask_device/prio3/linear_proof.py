"""The fully linear proof of VDAF (section "FLP Specification"): shares of a proof are checked on shares alone.

The j-th wire polynomial has a random value at the first root of unity and the gadget's j-th inputs, call by call, at
the next ones. The gadget polynomial is the gadget of the wire polynomials, so its values at the same points are the
gadget's outputs. A proof is the random values and the gadget polynomial at all but one of twice as many points, which
determine it. To check it, every holder evaluates its shares at one random point that the prover could not know: the
gadget of the wire polynomials must equal the gadget polynomial there. If they differ as polynomials, they agree at a
random point with a chance below 2^-57 for 32 bits.
"""

from collections.abc import Sequence

from halfmask_device.errors import ShareError
from halfmask_device.prio3.circuits import Circuit
from halfmask_device.prio3.field64 import MODULUS, completed, doubled, values_at


def wire_length(circuit: Circuit) -> int:
    """Return the number of points of a wire polynomial: a power of two above the number of calls."""
    return 1 << circuit.length.bit_length()


def proof_length(circuit: Circuit) -> int:
    """Return the number of elements of a proof."""
    return circuit.arity + 2 * wire_length(circuit) - 1


def query_length(circuit: Circuit) -> int:
    """Return the number of random elements of a query: one per output if there are several, and the point."""
    return 1 + (circuit.length if circuit.length > 1 else 0)


def wires(circuit: Circuit, measurement: Sequence[int], seeds: Sequence[int]) -> list[list[int]]:
    """Return the wire polynomials of (a share of) a measurement."""
    inputs = zip(*circuit.calls(measurement), strict=True)
    padding = [0] * (wire_length(circuit) - circuit.length - 1)
    return [[seed, *given, *padding] for seed, given in zip(seeds, inputs, strict=True)]


def prove(circuit: Circuit, measurement: Sequence[int], seeds: Sequence[int]) -> list[int]:
    """Return the proof that an encoded measurement is valid; ``seeds`` are random elements, one per wire."""
    at_twice = zip(*map(doubled, wires(circuit, measurement, seeds)), strict=True)
    return [*seeds, *(circuit.gadget(*values) for values in at_twice)][: proof_length(circuit)]


def query(circuit: Circuit, measurement: Sequence[int], proof: Sequence[int], random: Sequence[int]) -> list[int]:
    """Return (a share of) what decides on a proof, from (shares of) measurement and proof.

    The elements are the circuit's outputs, reduced to one by random factors, each wire polynomial at the random point,
    and the gadget polynomial there. A point at which a wire polynomial is a measurement's element is refused.
    """
    *factors, point = random
    if pow(point, wire_length(circuit), MODULUS) == 1:
        raise ShareError("the random point of the proof is a root of unity", kind="query")
    gadget = completed(proof[circuit.arity :])
    outputs = circuit.outputs(measurement, gadget[2::2])
    reduced = sum(r * v for r, v in zip(factors or [1], outputs, strict=True)) % MODULUS
    at_point = values_at(wires(circuit, measurement, proof[: circuit.arity]), point)
    return [reduced, *at_point, *values_at([gadget], point)]


def decide(circuit: Circuit, verifier: Sequence[int]) -> bool:
    """Return whether the sum of all holders' queries proves the measurement valid."""
    output, *at_point, gadget = verifier
    return output == 0 and circuit.gadget(*at_point) == gadget
