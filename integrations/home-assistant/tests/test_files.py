"""The files that Home Assistant and HACS read: manifest, translations, hacs.json."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from awesomeversion import AwesomeVersion
from homeassistant.loader import Manifest

ROOT = Path(__file__).parents[1]
PART = ROOT / "custom_components" / "halfmask"
MANIFEST: Manifest = json.loads((PART / "manifest.json").read_text())


def texts(plain: dict[str, Any], place: str = "") -> dict[str, str]:
    found = {}
    for name, each in plain.items():
        here = f"{place}.{name}" if place else name
        found |= texts(each, here) if isinstance(each, dict) else {here: each}
    return found


def language(name: str) -> dict[str, str]:
    return texts(json.loads((PART / "translations" / f"{name}.json").read_text(encoding="utf-8")))


def test_the_manifest_has_what_a_custom_integration_needs() -> None:
    assert MANIFEST["domain"] == PART.name
    assert MANIFEST["requirements"] == ["halfmask-device==" + MANIFEST["version"]]
    assert AwesomeVersion(MANIFEST["version"]).simple
    assert {"name", "documentation", "issue_tracker", "codeowners"} <= MANIFEST.keys()
    assert MANIFEST["config_flow"]
    assert (PART / "config_flow.py").exists()
    names = list(MANIFEST)
    assert names[:2] == ["domain", "name"]
    assert names[2:] == sorted(names[2:])


def test_nothing_but_the_device_and_home_assistant_is_imported() -> None:
    imported = {
        name
        for path in PART.glob("*.py")
        for name in re.findall(r"^(?:from|import) ([a-z_0-9]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {"halfmask_device", "homeassistant"} <= imported
    assert imported <= {"halfmask_device", "homeassistant", "voluptuous"} | set(sys.stdlib_module_names)


def test_every_text_is_translated_with_the_same_placeholders() -> None:
    english, german = language("en"), language("de")
    assert english.keys() == german.keys()
    for name, text in english.items():
        assert sorted(set(re.findall(r"{(\w+)}", text))) == sorted(set(re.findall(r"{(\w+)}", german[name]))), name


def test_every_error_of_the_forms_has_a_text() -> None:
    from custom_components.halfmask.level_form import ERRORS

    english = language("en")
    known = {name.rpartition(".")[2] for name in english if re.match(r"config\.(error|abort)\.", name)}
    assert {*ERRORS.values(), "other"} <= known


def test_hacs_knows_the_least_home_assistant() -> None:
    hacs = json.loads((ROOT / "hacs.json").read_text())
    assert hacs["name"] == MANIFEST["name"]
    assert AwesomeVersion(hacs["homeassistant"]) >= "2025.4.0"
