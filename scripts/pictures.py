"""The pictures of the documents, from a folder of `halfmask demo`: its figures, and the page of `halfmask explore`.

`make pictures` runs the demo and then this.
"""

import shutil
import subprocess
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from halfmask.simulation.live_demo import run_live_demo

FIGURES = ("levels", "protection", "limit")
SIZE = {"width": 1280, "height": 900}


def main(demo: Path, pictures: Path) -> None:
    for name in FIGURES:
        shutil.copy(demo / "figures" / f"{name}.png", pictures)
    live(pictures / "live.png")
    command = [sys.executable, "-m", "halfmask", "explore", str(demo), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            explore(server.stdout.readline().strip() if server.stdout else "", pictures / "explore.png")
        finally:
            server.terminate()


def live(picture: Path) -> None:
    """Both sides of the live demo, when its last day is closed."""
    ready, seen = threading.Event(), threading.Event()
    address: list[str] = []

    def opened(at: str) -> None:
        address.append(at)
        ready.set()

    def run() -> None:
        run_live_demo(1000, 1, opened, print, stay=lambda: bool(seen.wait(60)) and None)

    demo = threading.Thread(target=run)
    demo.start()
    ready.wait(60)
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 820}, color_scheme="light")
        page.goto(address[0])
        page.locator("#level").fill("3")
        page.locator("#last", has_text="You saw").wait_for(timeout=300_000)
        page.screenshot(path=picture)
        browser.close()
    seen.set()
    demo.join()


def explore(address: str, picture: Path) -> None:
    """The whole page, as it opens."""
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(address)
        page.locator("#scatter[data-drawn]").wait_for()
        page.locator("#controls:not([aria-busy])").wait_for()
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
