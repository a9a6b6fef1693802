"""Numbers and lists as text for captions and pages."""

from halfmask_device.decimals import upwards


def in_a_list(words: list[str]) -> str:
    """Join words to a list in text: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def share_text(value: float) -> str:
    """Return a relative error as text."""
    if 0 < value < 1e-4:
        return "less than 0.01 %"
    return f"{value * 100:.2f} %" if value < 0.1 else f"{value * 100:,.1f} %"


def percents(share_text: float) -> str:
    """Return a share as text: 100 %, 87.5 %."""
    return f"{share_text * 100:.4g} %"


def amount(amount: float) -> str:
    """Format an amount with four significant digits, without an exponent."""
    return f"{float(f'{amount:.4g}'):,.10g}"


def sized(value: float, unit: str) -> str:
    """Format a number with three digits and its unit."""
    return f"{value:.3g} {unit}".strip()


def at_least(bound: float) -> str:
    """Format a lower bound with three digits, rounded down so that it remains a lower bound."""
    return f"{-float(upwards(-bound)):g}"


def in_unit(what: str, unit: str) -> str:
    """Return an axis label with its unit."""
    return f"{what} ({unit or 'in the unit of the readings'})"


def summed(what: str, unit: str) -> str:
    """Return an axis label for sums. The unit is that of each reading, because a sum of powers is not a power."""
    return f"{what} (each in {unit})" if unit else what
