"""Run notebooks and store what their cells show: ``python scripts/notebooks.py INTO NOTEBOOK...``.

The cells of a notebook run in one namespace, in a temporary folder. A notebook of the same name is written to the
folder INTO; ``make notebooks`` writes those of docs/notebooks again. Jupyter is not needed.
"""

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell and return its outputs: what it prints, and the value of a last expression."""
    tree, printed, value = ast.parse(source), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if value is not None:
        shown = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_") and (html := value._repr_html_()):
            shown["text/html"] = str(html)
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": shown})
    return outputs


def run_notebook(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with the outputs of its cells; an error in a cell is raised."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [
        {**cell, "outputs": run_cell("".join(cell["source"]), names)} if cell["cell_type"] == "code" else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}


def markdown(notebook: dict[str, Any]) -> str:
    """Return a notebook as a page: its text, its code, and the stored outputs."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            shown = output.get("data", {})
            text = output["text"] if "text" in output else shown["text/plain"]
            parts.append(shown.get("text/html") or f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def main(into: str, *paths: str) -> None:
    """Run each notebook and write it to the folder ``into``."""
    sources, target = [Path(path).resolve() for path in paths], Path(into).resolve()
    for source in sources:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            ran = run_notebook(json.loads(source.read_text(encoding="utf-8")))
            os.chdir(target)
        (target / source.name).write_text(json.dumps(ran, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
