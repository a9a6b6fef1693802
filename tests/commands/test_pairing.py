"""`halfmask join --pair`: the code that connects a page, the QR code of its address, and another setting."""

import hashlib
from pathlib import Path

import pytest

from halfmask.commands._qr_code import CAPACITY, _bits, _masked, check_bytes, drawn, qr_code
from tests.commands.program import halfmask as program
from tests.pages.served import hosted

ADDRESS = "https://share.example.org/?campaign=8829ec23fd8c328a#pair=ABCDEFGHJK"
VERSION_4 = (
    "58a85205399833c6",
    "a3f2dd67d60365f0",
    "7c95139772f9f2dd",
    "8060654f501763aa",
    "43d68601d64fd61f",
    "b812dc1e2a872163",
    "24e87d72db118630",
    "6182c574f2210cbe",
)
"""SHA-256 of the modules of a full version 4-L code of 78 letters x, by mask, as another implementation draws them."""


def modules(code: list[list[bool]]) -> bytes:
    return bytes(each for row in code for each in row)


@pytest.mark.parametrize("mask", range(8))
def test_a_full_code_is_that_of_another_implementation(mask: int) -> None:
    code = _masked(4, _bits(b"x" * 78, *CAPACITY[3]), mask)
    assert hashlib.sha256(modules(code)).hexdigest()[:16] == VERSION_4[mask]


def test_check_bytes_are_those_of_the_standards_example() -> None:
    """ISO/IEC 18004, annex I: the digits 01234567 as a version 1-M code."""
    message = [0x10, 0x20, 0x0C, 0x56, 0x61, 0x80, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11]
    assert check_bytes(message, 10) == [0xA5, 0x24, 0xD4, 0xC1, 0xED, 0x36, 0xC7, 0x87, 0x2C, 0x55]


def test_a_code_is_drawn_with_its_finders_and_a_quiet_zone() -> None:
    code = qr_code(ADDRESS)
    assert code is not None
    lines = drawn(code).splitlines()
    assert {len(line) for line in lines} == {len(code) + 4}
    assert set(lines[0]) == {"█"}
    assert lines[1][2:9] == " ▄▄▄▄▄ "
    assert qr_code("x" * 107) is None


def test_a_device_shows_a_code_and_takes_another_setting(tmp_path: Path) -> None:
    with hosted(tmp_path) as service:
        campaign = service.campaign(least_producers=20)
        line = ("join", service.address, "--campaign", campaign, "--state", "mine", "--pair", "--setting")
        codes = []
        for setting in ("A", "B"):
            ended = program(*line, setting, "--budget", "inf", cwd=tmp_path)
            codes.append(ended.stdout.splitlines()[-1])
            assert f"{service.address}/?campaign={campaign}#pair={codes[-1]}" in ended.stderr
        for code, setting in zip(codes, "BB", strict=True):
            page = service.ok("POST", f"/v1/campaigns/{campaign}/pages", None, {"code": code})["token"]
            assert service.ok("GET", "/v1/me", page)["setting"] == setting
