"""The pictures of the documents, from a folder of `halfmask demo`: its figures, and the page of `halfmask explore`.

`make pictures` runs the demo and then this.
"""

import io
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from halfmask.simulation.live_demo import run_live_demo

FIGURES = ("levels", "protection", "limit")
SIZE = {"width": 1280, "height": 900}
FRAMES, PAUSE = 24, 400
"""How many pictures the recording has, and milliseconds for each."""


def main(demo: Path, pictures: Path) -> None:
    for name in FIGURES:
        shutil.copy(demo / "figures" / f"{name}.png", pictures)
    live(pictures / "live.gif")
    command = [sys.executable, "-m", "halfmask", "explore", str(demo), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            explore(server.stdout.readline().strip() if server.stdout else "", pictures / "explore.png")
        finally:
            server.terminate()


def live(picture: Path) -> None:
    """A recording of the live demo, which plays once and stays at its last line."""
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
        frames = list(watched(page))
        browser.close()
    seen.set()
    demo.join()
    record([frames[len(frames) * k // FRAMES] for k in range(FRAMES)] + frames[-1:], picture)


def record(frames: list[bytes], picture: Path) -> None:
    """Write frames that are shown one after the other, once, in one set of colours: that of the first and the last."""
    shown = [Image.open(io.BytesIO(each)).convert("RGB") for each in frames]
    width, height = shown[0].size
    both = Image.new("RGB", (width, 2 * height))
    for place in (0, -1):
        both.paste(shown[place], (0, -place * height))
    colours = both.quantize(128)
    first, *others = (each.quantize(palette=colours, dither=Image.Dither.NONE) for each in shown)
    first.save(picture, save_all=True, append_images=others, duration=PAUSE, optimize=True)


def watched(page: Page) -> Iterator[bytes]:
    """Photograph the page whenever its picture has changed, until its last line; the slider follows the homes."""
    before, ended = "", page.locator("#last", has_text="You saw")
    while not ended.count():
        days = page.locator("#results tbody tr").count()
        page.locator("#level").fill(str(min(days, 2) + 1))
        now = page.locator("#arrivals").inner_html()
        if now != before:
            yield page.screenshot()
        before = now
        page.wait_for_timeout(100)
    page.wait_for_timeout(500)
    yield page.screenshot()


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
