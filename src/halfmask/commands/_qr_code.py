"""A QR code in the terminal, for an address that a phone opens: bytes, error correction L, versions 1 to 5.

These versions have one block of data, so that the code is short. A longer text has no code here.
"""

CAPACITY = ((19, 7), (34, 10), (55, 15), (80, 20), (108, 26))
"""Data and check bytes by version."""
FORMAT_L = 0b01
GENERATOR, FORMAT_MASK = 0b10100110111, 0b101010000010010
QUIET = 2
Matrix = list[list[bool | None]]


def qr_code(text: str) -> list[list[bool]] | None:
    """Return the code's modules, True for dark ones; None if the text is too long."""
    data = text.encode()
    version = next((number for number, (size, _) in enumerate(CAPACITY, 1) if len(data) + 2 <= size), None)
    if version is None:
        return None
    bits = _bits(data, *CAPACITY[version - 1])
    codes = [_masked(version, bits, mask) for mask in range(8)]
    return min(codes, key=_penalty)


def drawn(code: list[list[bool]]) -> str:
    """Return the code as text, two rows per line, dark on light whatever the terminal's colours."""
    size = len(code) + 2 * QUIET
    full = [[False] * size for _ in range(size + size % 2)]
    for y, row in enumerate(code):
        full[y + QUIET][QUIET : QUIET + len(row)] = row
    blocks = {(True, True): " ", (True, False): "▄", (False, True): "▀", (False, False): "█"}
    lines = [
        "".join(blocks[pair] for pair in zip(*rows, strict=True)) for rows in zip(full[::2], full[1::2], strict=True)
    ]
    return "\n".join(lines)


def _bits(data: bytes, size: int, checks: int) -> list[bool]:
    """Return the message: mode, length, bytes, padding and check bytes."""
    text = f"0100{len(data):08b}" + "".join(f"{byte:08b}" for byte in data)
    text += "0" * min(4, 8 * size - len(text))
    text += "0" * (-len(text) % 8)
    message = [int(text[at : at + 8], 2) for at in range(0, len(text), 8)]
    message += [(0xEC, 0x11)[k % 2] for k in range(size - len(message))]
    return [bit == "1" for byte in message + check_bytes(message, checks) for bit in f"{byte:08b}"]


def _product(a: int, b: int) -> int:
    """Return a times b in the field of 256 elements modulo x^8 + x^4 + x^3 + x^2 + 1."""
    found = 0
    for _ in range(8):
        found ^= a if b & 1 else 0
        a, b = (a << 1) ^ (0x11D if a & 0x80 else 0), b >> 1
    return found


def check_bytes(message: list[int], count: int) -> list[int]:
    """Return the Reed-Solomon check bytes: the rest after division by (x - 1)(x - 2)(x - 4)..."""
    divisor, power = [1], 1
    for _ in range(count):
        divisor = [a ^ b for a, b in zip([*divisor, 0], [0, *(_product(each, power) for each in divisor)], strict=True)]
        power = _product(power, 2)
    rest = [0] * count
    for byte in message:
        factor = byte ^ rest[0]
        rest = [each ^ _product(factor, by) for each, by in zip([*rest[1:], 0], divisor[1:], strict=True)]
    return rest


def _fixed(version: int) -> Matrix:
    """Return the patterns that every code of a version has; None where data goes."""
    size = 17 + 4 * version
    found: Matrix = [[None] * size for _ in range(size)]
    for top, left in ((0, 0), (0, size - 7), (size - 7, 0)):
        for y in range(-1, 8):
            for x in range(-1, 8):
                if 0 <= top + y < size and 0 <= left + x < size:
                    ring = max(abs(y - 3), abs(x - 3))
                    found[top + y][left + x] = ring in (0, 1, 3)
    for k in range(8, size - 8):
        found[6][k] = found[k][6] = k % 2 == 0
    if version > 1:
        middle = size - 7
        for y in range(-2, 3):
            for x in range(-2, 3):
                found[middle + y][middle + x] = max(abs(y), abs(x)) != 1
    found[size - 8][8] = True
    return found


def _format_places(size: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the two places of each of the 15 format bits, the lowest first."""
    first = [(k, 8) for k in (0, 1, 2, 3, 4, 5, 7, 8)] + [(8, k) for k in (7, 5, 4, 3, 2, 1, 0)]
    second = [(8, size - 1 - k) for k in range(8)] + [(size - 7 + k, 8) for k in range(7)]
    return list(zip(first, second, strict=True))


def _with_format(version: int, mask: int) -> Matrix:
    """Return the fixed patterns with the format: the mask and the error correction, protected by check bits."""
    found = _fixed(version)
    value = (FORMAT_L << 3 | mask) << 10
    rest = value
    for shift in range(4, -1, -1):
        rest ^= GENERATOR << shift if rest >> (shift + 10) & 1 else 0
    for bit, places in enumerate(_format_places(len(found))):
        for y, x in places:
            found[y][x] = bool(((value | rest) ^ FORMAT_MASK) >> bit & 1)
    return found


def _flipped(mask: int, y: int, x: int) -> bool:
    """Return whether a mask flips this module."""
    product = y * x % 2 + y * x % 3
    rests = (
        (y + x) % 2, y % 2, x % 3, (y + x) % 3, (y // 2 + x // 3) % 2,
        product, product % 2, ((y + x) % 2 + y * x % 3) % 2,
    )  # fmt: skip
    return rests[mask] == 0


def _masked(version: int, bits: list[bool], mask: int) -> list[list[bool]]:
    """Return the code with its data under one of the eight masks."""
    found = _with_format(version, mask)
    size = len(found)
    waiting = iter(bits)
    columns = [right for right in range(size - 1, 0, -2) if right > 6] + [5, 3, 1]
    for number, right in enumerate(columns):
        rows = range(size) if number % 2 else range(size - 1, -1, -1)
        for y in rows:
            for x in (right, right - 1):
                if found[y][x] is None:
                    found[y][x] = next(waiting, False) ^ _flipped(mask, y, x)
    return [[bool(each) for each in row] for row in found]


def _penalty(code: list[list[bool]]) -> int:
    """Return how hard a code is to read: long runs, blocks, and an uneven share of dark modules."""
    lines = [*code, *(list(column) for column in zip(*code, strict=True))]
    runs = sum(
        max(0, len(run) - 2)
        for line in lines
        for run in "".join("1" if each else "0" for each in line).replace("01", "0 1").replace("10", "1 0").split()
        if len(run) >= 5
    )
    blocks = sum(
        code[y][x] == code[y][x + 1] == code[y + 1][x] == code[y + 1][x + 1]
        for y in range(len(code) - 1)
        for x in range(len(code) - 1)
    )
    dark = sum(map(sum, code)) / len(code) ** 2
    return runs + 3 * blocks + 10 * int(abs(dark - 0.5) * 20)
