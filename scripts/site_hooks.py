"""Hooks of mkdocs: the README is the first page of the site, and keyboards reach all of a page."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README as index.md, with links as they are seen from the site."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=text))
    return files


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
