"""No noise."""

from fractions import Fraction

from halfmask_device.law import DeviceMechanism, Law


class Silence(Law):
    """k = 0: no noise and no protection."""

    def draw(self, source: object) -> int:  # noqa: ARG002 (the law reads no bits)
        return 0

    def tail(self, n: int) -> float:
        return 0.0 if n > 0 else 1.0

    def _moment(self, power: int) -> float:  # noqa: ARG002
        return 0.0


MECHANISM = DeviceMechanism("none", (), build=lambda _, __: Silence(), reach=lambda _: Fraction(0))
