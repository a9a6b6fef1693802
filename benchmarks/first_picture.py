"""How long the explore page takes until its first picture, beside plain pages that draw as many points.

The yardstick is a plain page with a WebGL scatter by a usual library: scattergl of plotly, if that is installed. The
other plain page draws by bare WebGL, without axes, labels or anything to click: no page with a picture that can be read
is faster. Both fetch the same columns from the same server. The rounds alternate; milliseconds are medians, from the
opening to the first drawn point. A control's answer is timed after that.
"""

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

import halfmask
from halfmask.pages.explore.explore_server import ExploreServer
from halfmask.pages.explore.explorer import Explorer

ROUNDS = 7
USERS, DAYS = 1000, 21
FETCH = """
const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (each) => each.charCodeAt(0)).buffer);
const load = async (path) => (await fetch(path)).json();
const [all, found] = await Promise.all(["/api/settings", "/api/answer"].map(load));
const [x, y] = [floats(found.error), floats(found.epsilon)];
"""
BARE = """<!DOCTYPE html><canvas id=c width=900 height=500></canvas><script type=module>
%s
const gl = document.getElementById("c").getContext("webgl"), program = gl.createProgram();
const vertex = "attribute vec2 p; void main() { gl_Position = vec4(p, 0.0, 1.0); gl_PointSize = 3.0; }";
const fragment = "void main() { gl_FragColor = vec4(0.0, 0.4, 0.7, 1.0); }";
for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(program, shader);
}
gl.linkProgram(program); gl.useProgram(program);
const at = new Float32Array(2 * x.length);
x.forEach((value, k) => at.set([Math.log10(value) / 4 + 1, Math.log10(Math.min(y[k], 1e4)) / 4], 2 * k));
gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer()); gl.bufferData(gl.ARRAY_BUFFER, at, gl.STATIC_DRAW);
gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
gl.drawArrays(gl.POINTS, 0, x.length);
window.drawn = performance.now();
</script>"""  # fmt: skip
PLOTLY = """<!DOCTYPE html><div id=c></div><script src=/plotly.js></script><script type=module>
%s
await Plotly.newPlot("c", [{type: "scattergl", mode: "markers", x, y}], {xaxis: {type: "log"}, yaxis: {type: "log"}});
window.drawn = performance.now();
</script>"""
EXPLORE = "performance.getEntriesByName('halfmask-drawn')[0]?.startTime"


def run() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        halfmask.synth(folder / "panel.parquet", users=USERS, days=DAYS)
        halfmask.profile(folder / "panel.parquet", folder / "panel.profile")
        explorer = Explorer(folder)
        with ExploreServer(explorer) as server, sync_playwright() as running:
            Thread(target=server.serve_forever, daemon=True).start()
            explorer.warm()
            browser = running.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            compare(explorer, server, browser)
            browser.close()
            server.shutdown()


def compare(explorer: Explorer, server: ExploreServer, browser: Browser) -> None:
    pages = {"explore": (server.address, EXPLORE), "bare WebGL": (f"{server.address}bare", "window.drawn")}
    if plotly():
        pages["plotly scattergl"] = (f"{server.address}plotly", "window.drawn")
    taken: dict[str, list[float]] = {name: [] for name in pages}
    for _ in range(ROUNDS):
        for name, (address, drawn) in pages.items():
            taken[name].append(first_picture(browser, address, drawn))
    print(f"{len(explorer.all_settings(explorer.default.release).settings):,} points, {ROUNDS} rounds")
    for name, times in taken.items():
        print(f"{name:18} {statistics.median(times):6.0f} ms, {min(times):.0f} to {max(times):.0f}")
    print(f"a control's answer {1000 * statistics.median(answers(server.address)):6.0f} ms")


def plotly() -> Path | None:
    """Return plotly's script, if the package is installed."""
    found = importlib.util.find_spec("plotly")
    return Path(found.origin).parent / "package_data/plotly.min.js" if found and found.origin else None


def first_picture(browser: Browser, address: str, drawn: str) -> float:
    """Return the milliseconds from opening a page until it has drawn, without a cache."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    plain: dict[str, Callable[[], str]] = {"bare": lambda: BARE % FETCH, "plotly": lambda: PLOTLY % FETCH}
    for name, text in plain.items():
        page.route(f"**/{name}", lambda route, _, text=text: route.fulfill(body=text(), content_type="text/html"))
    page.route("**/plotly.js", lambda route: route.fulfill(path=plotly()))
    page.goto(address)
    while (found := page.evaluate(drawn)) is None:  # the page's policy allows no function that waits
        time.sleep(0.05)
    page.close()
    return float(found)


def answers(address: str) -> list[float]:
    """Return the seconds that answers take to questions that were not asked before."""
    found = []
    for producers in range(2001, 2001 + ROUNDS):
        started = time.perf_counter()
        with urlopen(f"{address}api/answer?producers={producers}&within=0.{producers}") as reply:
            reply.read()
        found.append(time.perf_counter() - started)
    return found
