// The demo's picture: total per home as homes arrive, with its band, and the truth that only the demo knows.
import { element } from "./curve.js";

const [HEIGHT, LEFT, TOP, FOOT] = [300, 34, 44, 8];
const REACH = 9;

export function drawArrivals(svg, { homes, plan, points }) {
  const width = Math.max(svg.clientWidth, 300), known = points.filter((each) => each.truth);
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  const middle = known.length ? known.at(-1).truth : 12, [low, high] = [middle - REACH, middle + REACH];
  const slot = (width - LEFT) / plan.length, x = (day, arrived) => LEFT + slot * (day + (0.97 * arrived) / homes);
  const y = (value) => TOP + ((HEIGHT - TOP - FOOT) * (high - Math.max(low, Math.min(high, value)))) / (high - low);
  const parts = [];
  for (let value = Math.ceil(low / 5) * 5; value <= high; value += 5) {
    parts.push(element("line", { class: "rule", x1: LEFT, x2: width, y1: y(value), y2: y(value) }));
    parts.push(element("text", { class: "mark", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)));
  }
  plan.forEach(({ title }, day) => {
    const own = points.filter((each) => each.day === day), shown = own.filter((each) => each.found);
    parts.push(element("text", { class: "day-name", x: x(day, 0) + 4, y: 18 }, slot < 160 ? title.split(" ").slice(0, 2).join(" ") : title));
    if (own.length) parts.push(element("text", { class: "mark", x: x(day, 0) + 4, y: 36 }, `${own.at(-1).arrived.toLocaleString("en")} homes`));
    if (day) parts.push(element("line", { class: "apart", x1: x(day, 0) - 3, x2: x(day, 0) - 3, y1: 4, y2: HEIGHT - FOOT }));
    const line = (of, value) => of.map((each) => `${x(day, each.arrived).toFixed(1)},${y(value(each)).toFixed(1)}`);
    if (shown.length > 1) {
      const outline = [...line(shown, (each) => each.found.high), ...line([...shown].reverse(), (each) => each.found.low)];
      parts.push(element("polygon", { class: "band", points: outline.join(" ") }));
      parts.push(element("polyline", { class: "seen", points: line(shown, (each) => each.found.estimate).join(" ") }));
    } else if (own.length && !shown.length) {
      parts.push(element("text", { class: "mark", x: x(day, 500), y: HEIGHT - FOOT - 8, "text-anchor": "middle" }, "nobody can look in"));
    } else if (shown.length) {
      const [{ arrived, found }] = shown, from = x(day, 0.55 * arrived);
      parts.push(element("rect", { class: "band", x: from, width: x(day, arrived) - from, y: y(found.high), height: Math.max(2, y(found.low) - y(found.high)) }));
      parts.push(element("line", { class: "seen", x1: from, x2: x(day, arrived), y1: y(found.estimate), y2: y(found.estimate) }));
    }
    parts.push(element("polyline", { class: "true", points: line(own, (each) => each.truth).join(" ") }));
  });
  svg.replaceChildren(...parts);
}
