"""What the documents say exists, runs and is complete."""

import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import expect

from halfmask.commands import names
from halfmask.commands._app import app
from tests.browser import LOOKS, accessible, launched, looking
from tests.pages.served import Visit
from tests.service.world import running, sqlite_url

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS]
COMMANDS = sorted(name for name in app if not name.startswith("-"))
PARTS = {name: sorted(part for part in app[name] if not part.startswith("-")) for name in COMMANDS}
"""The commands below a command: 'reward' has 'fit' and 'design'."""


def options(command: str) -> dict[str, bool]:
    """Every name an option of the command goes by, and whether a value follows it."""
    found = {}
    name, *part = command.split()
    of = app[name][part[0]] if part else app[name]
    for argument in of.assemble_argument_collection():
        for name in argument.names if argument.show else ():  # a group of options is itself none
            found[name] = argument.hint is not bool and name not in argument.negatives
    return found


def section(text: str, heading: str) -> str:
    """What stands under a heading of the second level; nothing where there is none."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(heading, "")


def undocumented(text: str, command: str) -> set[str]:
    """Options of a command that its section does not name in code style."""
    told = section(text, command.split()[0])
    words = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(re.findall(r"`([^`]+)`", told))))
    return options(command).keys() - words


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_documented(command: str) -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    assert section(text, command), f"docs/commands.md has no section '## {command}'"
    assert undocumented(text, command) == set()
    for part in PARTS[command]:
        assert undocumented(text, f"{command} {part}") == set()
    assert f"`halfmask {command}" in section(text, "All commands")


def test_a_missing_option_would_be_noticed() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    assert undocumented(text.replace("`--omega`", "omega"), "optimize") == {"--omega"}
    assert undocumented(text.replace("`--setting`", "`--settings`"), "evaluate") == {"--setting"}


def headings(page: Path) -> set[str]:
    """The anchors that a page's headings make."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links of a page that lead to no file, or to no heading of it."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


def test_a_broken_link_would_be_noticed() -> None:
    text = "[a](docs/nowhere.md) [b](docs/commands.md#no-such-heading) [c](docs/commands.md#grids)"
    assert broken_links(ROOT / "README.md", text) == ["docs/nowhere.md", "docs/commands.md#no-such-heading"]


def test_every_document_is_reached_from_the_readme() -> None:
    linked = set(re.findall(r"\]\(docs/([\w.]+\.md)\)", (ROOT / "README.md").read_text()))
    assert {page.name for page in DOCS} <= linked


def test_the_readme_can_be_read_in_a_few_minutes() -> None:
    assert len((ROOT / "README.md").read_text().split()) < 700


def missing_name(dotted: str) -> bool:
    """Whether ``halfmask.x.y.name`` is neither a module nor something in one."""
    parts = dotted.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            if not hasattr(found, part):
                return True
            found = getattr(found, part)
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_in_the_documents_exists(page: Path) -> None:
    # a name of our own, not the group of entry points
    names = set(re.findall(r"(?<![\w./])halfmask(?:\.[a-zA-Z_]\w*)+", page.read_text())) - {"halfmask.mechanisms"}
    if page.name == "method.md":
        assert len(names) > 30
    assert sorted(filter(missing_name, names)) == []


def test_a_missing_name_would_be_noticed() -> None:
    assert missing_name("halfmask.evaluation.analytic.local_errors.no_such_function")
    assert missing_name("halfmask.no_such_module.f")
    assert not missing_name("halfmask.profiles.profile.Profile.subset")


def test_every_test_named_in_the_documents_exists() -> None:
    wrong = []
    for page in PAGES:
        text = page.read_text()
        wrong += [name for name in re.findall(r"`(tests/[\w/]+\.py)`", text) if not (ROOT / name).exists()]
        for name, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
            if not (ROOT / name).exists() or f"def {test}(" not in (ROOT / name).read_text():
                wrong.append(f"{name}::{test}")
    assert wrong == []


def command_lines(text: str) -> Iterator[str]:
    """Commands of ours that a page shows: lines of code blocks, and code in a sentence."""
    for block in re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        yield from (line for line in block.splitlines() if line.startswith("halfmask "))
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from (code.replace("\n", " ") for code in re.findall(r"`(halfmask [^`]+)`", prose))


def wrong_with(line: str) -> str:
    """Why the program would not understand a command line; nothing where it would."""
    _, command, *words = shlex.split(re.sub(r"\[(-.*?)\]", r"\1", line), comments=True)
    if command in ("--help", "--version"):
        return ""
    if command not in COMMANDS:
        return f"{command} is no command"
    if words and words[0] in PARTS[command]:
        command = f"{command} {words.pop(0)}"
    known, rest = options(command), iter(words)
    for word in rest:
        if word.startswith("-"):
            if word not in known:
                return f"{command} has no option {word}"
            if known[word] and next(rest, None) is None:
                return f"{word} is without a value"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_line_is_understood(page: Path) -> None:
    lines = list(command_lines(page.read_text()))
    if page.name in ("README.md", "tutorial.md"):
        assert len(lines) >= 5
    assert {line: wrong for line in lines if (wrong := wrong_with(line))} == {}


def test_a_wrong_command_line_would_be_noticed() -> None:
    assert wrong_with("halfmask optimise study.parquet") == "optimise is no command"
    assert wrong_with("halfmask optimize study.parquet --omege 0.1") == "optimize has no option --omege"
    assert wrong_with("halfmask mix a b --keep") == "--keep is without a value"
    assert wrong_with("halfmask choose menu.json --from C --c -0.05") == ""
    assert wrong_with("halfmask reward fit choices.csv --budget 3") == "reward fit has no option --budget"


def test_the_example_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "README.md").read_text()
    example, printed = re.search(r"```python\n(.*?)```\n+```\n(.*?)```", text, flags=re.DOTALL).groups()  # type: ignore[union-attr]
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out == printed  # levels with an epsilon need no data
    assert sorted(path.name for path in tmp_path.iterdir()) == ["offer.json", "panel.parquet", "panel.profile"]


def test_the_campaign_of_the_documents_is_taken_as_it_stands(tmp_path: Path) -> None:
    """By curl's own kind of body, and a device can join it; a date alone would be refused."""
    blocks = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "protocol.md").read_text(), flags=re.DOTALL)
    (text,) = [block for block in blocks if '"rewards"' in block]
    with running(sqlite_url(tmp_path)) as world:
        consumer = world.consumer()
        headers = {"Authorization": f"Bearer {consumer}", "Content-Type": "application/x-www-form-urlencoded"}
        answer = world.send("POST", "/v1/campaigns", content=text.encode(), headers=headers)
        assert answer.status_code == 201, answer.text
        assert world.join(answer.json()["campaign"], "D")
        dated = text.replace("T00:00:00+01:00", "")
        assert world.send("POST", "/v1/campaigns", content=dated.encode(), headers=headers).status_code == 422


def test_every_picture_is_shown_and_every_shown_one_is_there() -> None:
    shown = {found for page in PAGES for found in re.findall(r"\(((?:docs/)?pictures/[\w.-]+)\)", page.read_text())}
    held = {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    assert {Path(path).name for path in shown} == held


def test_the_reference_has_every_command() -> None:
    """`make docs` fails where a name of it is not in the code, so what is there is right; this finds what is not."""
    text = (ROOT / "docs" / "reference.md").read_text()
    assert [name for name in names() if f"::: halfmask.commands.{name}.{name}\n" not in text] == []


def site(documents: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """The documents as a site; whatever is doubtful is an error."""
    config = into / "mkdocs.yml"
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("paths: [src]", f"paths: [{ROOT / 'src'}]")
    text = text.replace("hooks: [scripts/", f"hooks: [{ROOT}/scripts/")
    config.write_text(text.replace("docs_dir: docs", f"docs_dir: {documents}"), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "-f",
        str(config),
        "-d",
        str(into / "site"),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow  # five seconds
def test_the_site_is_built_with_the_python_reference(tmp_path: Path) -> None:
    ended = site(ROOT / "docs", tmp_path)
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "site" / "reference" / "index.html").read_text(encoding="utf-8")
    assert all(f"halfmask.commands.{name}.{name}" in page for name in names())
    assert page.count("<td><code>output</code></td>") > 10  # an option of a base class
    assert 'src="http' not in page


@pytest.mark.slow  # a minute: every page in four looks
def test_everybody_can_use_the_site(tmp_path: Path) -> None:
    assert site(ROOT / "docs", tmp_path).returncode == 0
    folder = tmp_path / "site"
    pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("index.html"))
    assert len(pages) > 20
    handler = partial(QuietFiles, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, launched() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        for width, scheme in LOOKS:
            visit = Visit(browser, **looking(width, scheme))
            for name in pages:
                visit.page.goto(address + name)
                accessible(visit.page)
            visit.page.goto(address + "?q=epsilon")
            expect(visit.page.locator("#mkdocs-search-results article a[href*=ledger]").first).to_be_attached()
            assert [url for url in visit.asked if not url.startswith((address, "data:"))] == []
            assert visit.wrong == []
            visit.page.close()
        server.shutdown()


class QuietFiles(SimpleHTTPRequestHandler):
    """Files of a folder, without a line per request."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_a_reference_to_what_is_not_there_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "reference.md").write_text("# Reference\n\n::: halfmask.commands.evaluate.no_such_function\n")
    ended = site(tmp_path / "docs", tmp_path)
    assert ended.returncode != 0
    assert "no_such_function" in ended.stderr
