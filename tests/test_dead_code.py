"""Dead code: everything that is defined is used somewhere, or is called by name from outside and stands below."""

from fnmatch import fnmatch
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).parents[1]
FOUND_BY_FILE = ("src/halfmask/mechanisms/ours/*", "src/halfmask/commands/*", "src/halfmask/cli/*")
"""A mechanism is registered, and a command is found, by the file it stands in."""
CALLED = {
    "__getattr__": "Python, for names of the package that load what they need",
    "__dir__": "Python, for the same names",
    "__signature__": "inspect, for the arguments of a command",
    "_": "singledispatch",
    "Axes": "annotations in quotes",
    "MQTTMessage": "annotations in quotes",
    "share_of_value": "asdict, which writes all fields of a finding",
    "pythonExec": "Spark",
    "filters": "Jinja",
    "address_family": "http.server",
    "handle_error": "http.server",
    "client_address": "http.server",
    "protocol_version": "http.server",
    "server_version": "http.server",
    "sys_version": "http.server",
    "error_content_type": "http.server",
    "error_message_format": "http.server",
    "do_HEAD": "http.server",
    "log_message": "http.server",
    "on_connect": "paho-mqtt",
    "on_message": "paho-mqtt",
    "on_subscribe": "paho-mqtt",
    "worker_app": "uvicorn, by its address",
    "capture_signals": "uvicorn",
    "handlers": "logging",
    "isolation_level": "sqlite3",
    "redirect_request": "urllib",
}
"""Names that something outside of the packages calls."""


def unused(*paths: Path) -> list[str]:
    """What vulture finds no use of in the packages; tests, benchmarks and scripts count as use."""
    seeker = Vulture()
    seeker.scavenge([str(path) for path in paths], exclude=["*/migrations/*"])
    found = []
    for item in seeker.get_unused_code(min_confidence=60):
        place = Path(item.filename).resolve()
        named = str(place.relative_to(ROOT)) if place.is_relative_to(ROOT) else str(place)
        found.append(f"{named}:{item.first_lineno} {item.name}")
    return found


def test_nothing_is_dead() -> None:
    found = unused(*(ROOT / name for name in ("src", "tests", "benchmarks", "scripts")))
    ours = [each for each in found if each.startswith("src/")]
    dead = [each for each in ours if not any(fnmatch(each.partition(":")[0], place) for place in FOUND_BY_FILE)]
    assert [each for each in dead if each.split()[-1] not in CALLED] == []
    assert {each.split()[-1] for each in ours} >= {"handle_error", "worker_app"}  # the list above is needed


def test_dead_code_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("def used():\n    return 1\n\n\ndef dead():\n    return used()\n")
    assert [each.split()[-1] for each in unused(tmp_path)] == ["dead"]
