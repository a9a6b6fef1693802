"""Hooks of mkdocs: the README is the first page, notebooks are pages, and keyboards reach all of a page."""

import json
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))  # mkdocs loads this file alone

import notebooks  # noqa: E402


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README as index.md, with links as they are seen from the site, and a page of each notebook."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=text))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        page = notebooks.markdown(json.loads(path.read_text(encoding="utf-8")))
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - as mkdocs calls it
    """Link the page of a notebook in place of its file."""
    return markdown.replace(".ipynb)", ".md)")


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001 - as mkdocs calls it
    """Let keyboards reach what scrolls, and mark the bar at the top as the page's banner."""
    changes = {
        "<pre>": '<pre tabindex="0">',
        "<table>": '<div class="wide" tabindex="0"><table>',
        "</table>": "</table></div>",
        '<div class="navbar ': '<div role="banner" class="navbar ',
    }
    for old, new in changes.items():
        output = output.replace(old, new)
    return output
