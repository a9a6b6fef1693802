// The one curve of the choose page: a grey line for what is true, a blue one for what others get.
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 260;
/** Room for the label above and for the marks below. */
const [TOP, FOOT] = [24, 26];
const [ABOVE, BELOW] = [1.9, 0.9];

export function element(name, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

export class Curve {
  /** Draws into an svg element; `words` has `yours`, `theirs` and `nothing`. */
  constructor(svg, words) {
    Object.assign(this, { svg, words });
    const clip = element("clipPath", { id: "curve-frame" });
    clip.append(element("rect", { y: TOP, width: "100%", height: HEIGHT - TOP - FOOT }));
    this.zero = element("line", { class: "rule", x1: 0 });
    this.clipped = element("g", { "clip-path": "url(#curve-frame)" });
    this.theirs = element("polyline", { class: "seen" });
    this.dots = element("g", { class: "dots" });
    this.yours = element("polyline", { class: "true" });
    this.clipped.append(this.theirs, this.dots, this.yours);
    this.labels = ["true", "seen"].map((kind) => element("text", { class: `line-label ${kind}-label` }));
    this.marks = Array.from({ length: 5 }, () => element("text", { class: "mark", y: HEIGHT - 6 }));
    for (const [name, value] of [["x", 8], ["y", 16]]) this.labels[1].setAttribute(name, value);
    svg.replaceChildren(clip, this.zero, this.clipped, ...this.labels, ...this.marks);
    new ResizeObserver(() => this.last && this.svg.clientWidth !== this.width && this.draw(...this.last)).observe(svg);
  }
  /** `day`: true values; `seen`: what others get; `marks`: up to five texts below; `share`: what is seen is random. */
  draw(day, seen, marks, { share = false, open = false } = {}) {
    this.last = [day, seen, marks, { share, open }];
    const width = (this.width = this.svg.clientWidth || 360);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.zero.setAttribute("x2", width);
    const most = Math.max(...day, 0), least = Math.min(...day, 0), size = most - least || 1;
    const [high, low] = [most + (ABOVE - 1) * size, least - BELOW * size], frame = HEIGHT - TOP - FOOT;
    const y = (value) => TOP + Math.max(-60, Math.min(frame + 60, (frame * (high - value)) / (high - low)));
    const x = (k) => (width * k) / Math.max(day.length - 1, 1);
    const points = (values) => values.map((value, k) => `${x(k).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    this.yours.setAttribute("points", points(day));
    this.theirs.setAttribute("points", share ? "" : points(seen));
    this.dots.replaceChildren(...(share ? seen.map((part, k) => element("circle", { cx: x(k).toFixed(1), cy: (TOP + frame * (1 - part)).toFixed(1), r: 3.5 })) : []));
    for (const end of ["y1", "y2"]) this.zero.setAttribute(end, y(0).toFixed(1));
    this.labelYours(day, x, y);
    this.labels[1].textContent = share ? this.words.nothing : open ? this.words.same : this.words.theirs;
    marks.forEach((text, k) => {
      this.marks[k].textContent = text;
      this.marks[k].setAttribute("x", (width * k) / Math.max(marks.length - 1, 1));
      this.marks[k].setAttribute("text-anchor", k === 0 ? "start" : k === marks.length - 1 ? "end" : "middle");
    });
  }
  /** The label of the grey line is on its highest point; that of the blue one, which is anywhere, in its corner above. */
  labelYours(day, x, y) {
    const highest = day.indexOf(Math.max(...day)), { width } = this, [label] = this.labels;
    const place = Math.min(Math.max(x(highest), 8), width - 8);
    label.textContent = this.words.yours;
    label.setAttribute("x", place);
    label.setAttribute("text-anchor", place < width * 0.3 ? "start" : place > width * 0.7 ? "end" : "middle");
    label.setAttribute("y", Math.max(TOP + 14, Math.min(y(day[highest]) - 12, HEIGHT - 36)).toFixed(1));
  }
}
