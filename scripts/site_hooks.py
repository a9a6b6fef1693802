"""Hooks of mkdocs: the README is the first page, notebooks are pages, and keyboards reach all of a page."""

import html
import inspect
import json
import re
import sys
from pathlib import Path

from markdown.extensions.toc import slugify
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import halfmask

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))  # mkdocs loads this file alone

import notebooks  # noqa: E402


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let no heading's id begin with a digit: the theme's script, which marks where a reader is, fails at those."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = lambda text, separator: re.sub(
        r"^(?=\d)", "n", slugify(text, separator)
    )
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README as index.md, with links as they are seen from the site, and a page of each notebook."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=text))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        page = notebooks.markdown(json.loads(path.read_text(encoding="utf-8")))
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - as mkdocs calls it
    """Link the page of a notebook in place of its file; in the reference, list all parameters of a command.

    A command's options are also those of base classes, which mkdocstrings leaves out.
    """
    if page.file.src_uri == "reference.md":
        return re.sub(r"^::: halfmask\.commands\.(\w+)\.[A-Z]\w*$", parameters, markdown, flags=re.MULTILINE)
    return markdown.replace(".ipynb)", ".md)")


def parameters(found: re.Match[str]) -> str:
    """Return the table of a command's parameters, from its signature and its help."""
    function = getattr(halfmask, found[1])
    told = dict(re.findall(r"^(\w+)\n((?: {4}.*\n?)+)", function.__doc__.partition("----------\n")[2], re.MULTILINE))
    rows = ["| parameter | default | meaning |", "|---|---|---|"]
    for name, each in inspect.signature(function).parameters.items():
        default = "required" if each.default is each.empty else f"`{each.default}`"
        rows.append(f"| `{name}` | {default} | {html.escape(' '.join(told[name].split())).replace('|', '&#124;')} |")
    return "\n".join(rows)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001 - as mkdocs calls it
    """Let keyboards reach what scrolls, and mark the bar at the top as the page's banner.

    An empty corner of a table is not a heading. Results in notebooks scroll as all tables do, without a landmark.
    """
    changes = {
        "<pre>": '<pre tabindex="0">',
        "</table>": "</table></div>",
        '<div class="navbar ': '<div role="banner" class="navbar ',
        "</head>": '<style id="hljs-light"></style><style id="hljs-dark"></style></head>',  # the theme's switch
    }
    for old, new in changes.items():
        output = output.replace(old, new)
    output = re.sub(r"<th\b[^>]*>\s*</th>", "<td></td>", output)
    output = re.sub(r'(<div class="scroll[^"]*") tabindex="0" role="region" aria-label="[^"]*"', r"\1", output)
    return re.sub(r"<table\b[^>]*>", '<div class="wide" tabindex="0"><table>', output)
