// Draws figures: plotly specifications without ink or paper, in the colours of the page, wide or narrow.

const NARROW = 640;
const CONFIG = {
  responsive: true,
  displaylogo: false,
  // Named one by one: by itself plotly adds a button that sends the figure's data to its maker's cloud.
  modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  plotlyServerURL: "",
};
const drawn = new Map(); // plot element -> { figure, extra }
const waiting = new Map(); // figure element -> the figure that it will show
const near = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => drawWaiting(entry.target)),
  { rootMargin: "400px" },
);
const isNarrow = (plot) => plot.clientWidth > 0 && plot.clientWidth < NARROW;

/** plotly, fetched when first needed: the page is read and its controls answer before four megabytes are understood. */
let coming;
export function plotly() {
  coming ??= window.Plotly ? Promise.resolve() : new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = new URL("./plotly.min.js", import.meta.url);
    script.onload = done;
    script.onerror = () => failed(new Error("plotly.min.js could not be loaded"));
    document.head.append(script);
  });
  return coming;
}

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
      legend: { groupclick: "togglegroup" },
    },
  };
}

/** Draws a figure into its element, or draws it again; `extra` traces are laid over it until they are replaced. */
export async function draw(figure, extra = drawn.get(plotOf(figure.name))?.extra ?? []) {
  const plot = plotOf(figure.name);
  if (!plot) return;
  const told = plot.parentElement.querySelector(".told");
  if (told) told.textContent = figure.caption;
  plot.parentElement.hidden = false;
  const narrow = isNarrow(plot);
  // uirevision keeps zoom and hidden mechanisms when numbers change; another arrangement of panels starts afresh.
  const layout = { ...structuredClone(narrow ? figure.narrow : figure.wide), template: template(), uirevision: narrow };
  drawn.set(plot, { figure, extra });
  plot.style.minHeight = `${layout.height}px`;
  await plotly();
  if (drawn.get(plot).figure !== figure) return; // a later one came first
  await window.Plotly.react(plot, [...figure.traces, ...extra], layout, CONFIG);
  if (!plot.dataset.ready) plot.on("plotly_afterplot", () => keyboard(plot));
  plot.dataset.ready = "yes";
  keyboard(plot);
}

/** Draws all figures, each when it comes near the screen; those of the page that are not among them are hidden. */
export function drawAll(figures) {
  const byName = new Map(figures.map((figure) => [figure.name, figure]));
  near.disconnect();
  for (const element of document.querySelectorAll("main > section > figure")) {
    const figure = byName.get(element.id.replace("figure-", ""));
    element.hidden = !figure;
    if (!figure) continue;
    waiting.set(element, figure);
    element.querySelector(".told").textContent = figure.caption;
    const plot = element.querySelector(".plot");
    plot.style.minHeight = `${(isNarrow(plot) ? figure.narrow : figure.wide).height}px`;
    near.observe(element);
  }
}

function drawWaiting(element) {
  const figure = waiting.get(element);
  waiting.delete(element);
  near.unobserve(element);
  return figure && draw(figure);
}

/** Lays traces over a figure that is drawn; an empty list takes them away. */
export function overlay(name, extra) {
  const plot = plotOf(name);
  if (!plot) return undefined;
  const figure = waiting.get(plot.parentElement) ?? drawn.get(plot)?.figure;
  waiting.delete(plot.parentElement);
  return figure && draw(figure, extra);
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
addEventListener("beforeprint", () => [...waiting.keys()].forEach(drawWaiting));
let wasNarrow = innerWidth < NARROW;
addEventListener("resize", () => {
  if (innerWidth < NARROW === wasNarrow) return;
  wasNarrow = innerWidth < NARROW;
  redraw();
});

// In the file that stands alone the figures lie in the page itself.
const embedded = document.getElementById("figures-data");
if (embedded) drawAll(JSON.parse(embedded.textContent));
