// Draws figures: plotly specifications without ink or paper, in the colours of the page, wide or narrow.

const NARROW = 640;
const CONFIG = {
  responsive: true,
  displaylogo: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
};
const drawn = new Map(); // plot element -> { figure, extra, narrow }

/** The page's own colours and letters as a plotly template: whatever a specification leaves open. */
function template() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = {
    gridcolor: colour("--rule"), linecolor: colour("--quiet"), tickcolor: colour("--quiet"),
    zeroline: false, showline: true, ticks: "outside", ticklen: 4, automargin: true,
    title: { standoff: 8, font: { size: 13 } },
  };
  return {
    layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: colour("--ink") },
      xaxis: axis, yaxis: axis, annotationdefaults: { font: { size: 13.5 } },
      hoverlabel: { align: "left", bgcolor: colour("--paper"), bordercolor: colour("--quiet"),
        font: { color: colour("--ink"), size: 13 } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--quiet"), activecolor: colour("--ink") },
      legend: { itemsizing: "constant", groupclick: "togglegroup" },
    },
  };
}

/** Draws a figure into its element, or draws it anew; `extra` traces are laid over it until they are replaced. */
export function draw(figure, extra = drawn.get(plotOf(figure.name))?.extra ?? []) {
  const plot = plotOf(figure.name);
  if (!plot) return undefined;
  const told = plot.parentElement.querySelector(".told");
  if (told) told.textContent = figure.caption;
  plot.parentElement.hidden = false;
  const narrow = plot.clientWidth < NARROW && plot.clientWidth > 0;
  // uirevision keeps zoom and hidden mechanisms when numbers change; another arrangement of panels starts afresh.
  const layout = { ...structuredClone(narrow ? figure.narrow : figure.wide), template: template(), uirevision: narrow };
  drawn.set(plot, { figure, extra, narrow });
  plot.style.minHeight = `${layout.height}px`;
  return window.Plotly.react(plot, [...figure.traces, ...extra], layout, CONFIG).then(() => {
    if (!plot.dataset.ready) plot.on("plotly_afterplot", () => keyboard(plot));
    plot.dataset.ready = "yes";
    keyboard(plot);
  });
}

/** Draws all figures; those of the page that are not among them are hidden. */
export async function drawAll(figures) {
  const names = new Set(figures.map((figure) => figure.name));
  for (const element of document.querySelectorAll("main > section > figure")) {
    element.hidden = !names.has(element.id.replace("figure-", ""));
  }
  for (const figure of figures) {
    await draw(figure);
    await new Promise((done) => setTimeout(done)); // the page stays awake between figures
  }
}

/** Lays traces over a figure that is drawn; an empty list takes them away. */
export function overlay(name, extra) {
  const state = drawn.get(plotOf(name));
  return state ? draw(state.figure, extra) : undefined;
}

function plotOf(name) {
  return document.querySelector(`#figure-${name} > .plot`);
}

/** Makes the entries of the legend reachable by keyboard; plotly hears only the mouse. */
function keyboard(plot) {
  for (const entry of plot.querySelectorAll(".legend .traces")) {
    if (entry.hasAttribute("tabindex")) continue;
    const name = entry.querySelector(".legendtext")?.textContent ?? "";
    entry.setAttribute("tabindex", "0");
    entry.setAttribute("role", "button");
    entry.setAttribute("aria-label", `show or hide ${name}`);
    entry.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      const group = plot.data.flatMap((trace, place) => (trace.legendgroup === name ? [place] : []));
      const hidden = plot.data[group[0]]?.visible === "legendonly";
      window.Plotly.restyle(plot, { visible: hidden ? true : "legendonly" }, group).then(() => {
        const again = [...plot.querySelectorAll(".legend .traces")];
        again.find((each) => each.textContent === name)?.focus();
      });
    });
  }
}

function redraw() {
  for (const { figure } of drawn.values()) draw(figure);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth < NARROW === width < NARROW) return;
  width = innerWidth;
  redraw();
});

// In the file that stands alone the figures lie in the page itself.
const embedded = document.getElementById("figures-data");
if (embedded) drawAll(JSON.parse(embedded.textContent));
