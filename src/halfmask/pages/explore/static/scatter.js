// One picture of many points: WebGL draws the points, SVG draws axes, lines and labelled marks over them.

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 74, right: 14, top: 16, bottom: 46 };
const STRIP = 26; // pixels for values that are infinite
const NEAR = 14; // pixels from which a point is found
const VERTEX = `attribute vec2 at; attribute vec3 colour; uniform float size; varying vec3 shade;
  void main() { gl_Position = vec4(at, 0.0, 1.0); gl_PointSize = size; shade = colour; }`;
const FRAGMENT = `precision mediump float; varying vec3 shade; uniform float strength;
  void main() { vec2 off = gl_PointCoord - 0.5; if (dot(off, off) > 0.25) discard; gl_FragColor = vec4(shade * strength, strength); }`;

export function svg(name, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

/** Round values that divide a range well, as an axis labels them. */
export function ticks(low, high, log) {
  const found = [];
  if (log) {
    const wide = Math.log10(high / low);
    const steps = wide > 3 ? [1] : wide > 1.2 ? [1, 3] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const step of steps) found.push(step * 10 ** power);
    }
  } else {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(12)));
  }
  return found.filter((each) => each >= low * (1 - 1e-9) && each <= high * (1 + 1e-9));
}

/** How an axis places values: fractions of the room, 0 to 1; infinite values are in a strip behind 1. */
class Axis {
  constructor(spec, values, marks, pixels, strip) {
    Object.assign(this, spec);
    let [low, high] = [Infinity, -Infinity];
    for (const list of [values, marks]) {
      for (const value of list) {
        if (!Number.isFinite(value) || (this.log && value <= 0)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (!(low <= high)) [low, high] = [this.log ? 0.01 : 0, 1];
    const [least, most] = this.room ?? [-Infinity, Infinity];
    const inside = marks.filter((each) => Number.isFinite(each) && (!this.log || each > 0));
    low = Math.max(low, Math.min(least, ...inside));
    high = Math.min(high, Math.max(most, ...inside));
    if (low >= high) [low, high] = this.log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
    const [a, b] = this.log ? [Math.log(low), Math.log(high)] : [low, high];
    const more = 0.03 * (b - a);
    [this.low, this.high] = [a - more, b + more];
    this.whole = strip ? 1 - STRIP / pixels : 1;
    this.strip = strip;
  }

  place(value) {
    if (value === Infinity) return this.strip ? (1 + this.whole) / 2 : NaN;
    if (this.log && value <= 0) return NaN;
    const at = ((this.log ? Math.log(value) : value) - this.low) / (this.high - this.low);
    return at >= 0 && at <= 1 ? at * this.whole : NaN;
  }

  ticks() {
    const ends = [this.low, this.high].map((each) => (this.log ? Math.exp(each) : each));
    return ticks(...ends, this.log);
  }
}

export class Scatter {
  constructor(host, { pick, hover }) {
    this.host = host;
    this.hover = hover;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    this.over = svg("svg", { "aria-hidden": "true" });
    this.tip = document.createElement("p");
    this.tip.className = "tip";
    this.tip.setAttribute("role", "status");
    host.replaceChildren(this.canvas, this.over, this.tip);
    this.gl = this.canvas.getContext("webgl", { antialias: false, premultipliedAlpha: true });
    if (this.gl) this.prepare();
    host.addEventListener("pointermove", (event) => this.point(this.nearest(event)));
    host.addEventListener("pointerleave", () => this.point(-1));
    host.addEventListener("click", (event) => {
      const row = this.nearest(event);
      if (row >= 0) pick(row);
    });
    host.addEventListener("keydown", (event) => this.key(event, pick));
    new ResizeObserver(() => this.scene && this.draw()).observe(host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.scene && this.draw());
  }

  prepare() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.uniform = (name, value) => gl.uniform1f(gl.getUniformLocation(program, name), value);
    this.buffer = (name, values, size) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, (this[`${name}Buffer`] ??= gl.createBuffer()));
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
      const place = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 0);
    };
  }

  /** Draws a scene: `x`, `y` (spec and values), `shown` (rows), `colours` by kind, `kind` by row, `marks`, `lines`,
      `front` (rows in order), `fits` (bounds on x and y). */
  show(scene) {
    this.scene = scene;
    this.draw();
  }

  draw() {
    const { host, scene } = this;
    const [width, height] = [host.clientWidth, host.clientHeight];
    if (!width || !height) return;
    const room = { x: width - MARGIN.left - MARGIN.right, y: height - MARGIN.top - MARGIN.bottom };
    const axis = (name) => {
      const values = scene.shown.map((row) => scene[name].values[row]);
      const marks = [...scene.marks.map((mark) => mark[name]), ...scene.lines.flatMap((line) => line[name])];
      return new Axis(scene[name].spec, values, marks, room[name], [values, marks].some((list) => list.includes(Infinity)));
    };
    const [x, y] = [axis("x"), axis("y")];
    Object.assign(this, { room, x, y });
    this.left = (value) => MARGIN.left + room.x * x.place(value);
    this.top = (value) => MARGIN.top + room.y * (1 - y.place(value));
    this.points(width, height);
    this.drawOver(width, height);
  }

  points(width, height) {
    const { scene, gl } = this;
    const [across, down] = ["x", "y"].map((name) => scene[name].values);
    this.at = new Float32Array(2 * scene.shown.length);
    const colours = new Float32Array(3 * scene.shown.length);
    scene.shown.forEach((row, place) => {
      this.at[2 * place] = this.left(across[row]);
      this.at[2 * place + 1] = this.top(down[row]);
      colours.set(scene.colours[scene.kind[row]], 3 * place);
    });
    if (!gl) return;
    const ratio = devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [width * ratio, height * ratio];
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!scene.all) return;
    const clip = this.at.map((value, place) => (place % 2 ? 1 - (2 * value) / height : (2 * value) / width - 1));
    this.buffer("at", clip.map((value) => (Number.isNaN(value) ? 9 : value)), 2);
    this.buffer("colour", colours, 3);
    this.uniform("size", 3.4 * ratio);
    this.uniform("strength", 0.55);
    gl.drawArrays(gl.POINTS, 0, scene.shown.length);
  }

  drawOver(width, height) {
    const { over, scene, x, y } = this;
    over.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
    const parts = [];
    if (scene.fits) parts.push(this.fitting(left, bottom));
    for (const value of x.ticks()) {
      const at = this.left(value);
      parts.push(svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }));
      parts.push(svg("text", { class: "tick across", x: at, y: bottom + 16 }, x.label(value)));
    }
    for (const value of y.ticks()) {
      const at = this.top(value);
      parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }));
      parts.push(svg("text", { class: "tick up", x: left - 7, y: at }, y.label(value)));
    }
    if (x.strip) parts.push(svg("text", { class: "tick up", x: right - 2, y: top + 8 }, "no promise"));
    if (y.strip) parts.push(svg("text", { class: "tick", x: left + 6, y: this.top(Infinity) - 7 }, "no promise"));
    parts.push(svg("text", { class: "title across", x: (left + right) / 2, y: height - 8 }, x.title));
    const middle = (top + bottom) / 2;
    parts.push(svg("text", { class: "title across", transform: `translate(14 ${middle}) rotate(-90)` }, y.title));
    if (scene.front.length > 1) parts.push(this.line("front", scene.front.map((row) => [x, y].map((_, k) => scene["xy"[k]].values[row]))));
    for (const line of scene.lines) parts.push(this.line(line.name, line.x.map((value, place) => [value, line.y[place]])));
    for (const mark of scene.marks) parts.push(...this.mark(mark, right));
    this.cursor = svg("circle", { class: "cursor", r: 7, visibility: "hidden" });
    over.replaceChildren(...parts, this.cursor);
  }

  /** The part of the picture where error and epsilon are small enough. */
  fitting(left, bottom) {
    const edge = (axis, value, end, of) => (value === undefined ? end : Number.isNaN(axis.place(value)) ? null : of(value));
    const right = edge(this.x, this.scene.fits.x, left + this.room.x * this.x.whole, this.left);
    const top = edge(this.y, this.scene.fits.y, MARGIN.top + this.room.y * (1 - this.y.whole), this.top);
    if (right === null || top === null) return svg("g");
    const group = svg("g");
    group.append(svg("rect", { class: "fits", x: left, y: top, width: Math.max(right - left, 0), height: Math.max(bottom - top, 0) }));
    group.append(svg("text", { class: "tick", x: left + 6, y: bottom - 10 }, "fits"));
    return group;
  }

  line(name, places) {
    const points = places.map(([x, y]) => [this.left(x), this.top(y)]).filter((each) => !each.some(Number.isNaN));
    return svg("polyline", { class: `line ${name}`, points: points.map((each) => each.map((value) => value.toFixed(1)).join()).join(" ") });
  }

  mark(mark, right) {
    const [x, y] = [this.left(mark.x), this.top(mark.y)];
    if (Number.isNaN(x) || Number.isNaN(y)) return [];
    const near = x > right - 60;
    return [
      svg("circle", { class: `mark ${mark.layer}`, cx: x, cy: y, r: 6.5 }),
      svg("text", { class: `label ${mark.layer}`, x: near ? x - 11 : x + 11, y: y - 9, "text-anchor": near ? "end" : "start" }, mark.id),
    ];
  }

  /** The row of the point nearest to a pointer; -1 if none is near. */
  nearest(event) {
    if (!this.scene?.all) return -1;
    const box = this.host.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [best, found] = [NEAR * NEAR, -1];
    for (let place = 0; place < this.at.length; place += 2) {
      const far = (this.at[place] - x) ** 2 + (this.at[place + 1] - y) ** 2;
      if (far < best) [best, found] = [far, place / 2];
    }
    return found < 0 ? -1 : this.scene.shown[found];
  }

  /** Shows one point with its words; -1 hides them. */
  point(row) {
    this.host.style.cursor = row < 0 ? "default" : "pointer";
    if (row === this.pointed) return;
    this.pointed = row;
    const place = row < 0 ? -1 : this.scene.shown.indexOf(row);
    this.cursor?.setAttribute("visibility", place < 0 ? "hidden" : "visible");
    this.tip.hidden = place < 0;
    if (place < 0) return;
    const [x, y] = [this.at[2 * place], this.at[2 * place + 1]];
    this.cursor.setAttribute("cx", x);
    this.cursor.setAttribute("cy", y);
    this.tip.textContent = this.hover(row);
    this.tip.style.left = `${Math.min(Math.max(x - 110, 4), Math.max(this.host.clientWidth - 240, 4))}px`;
    this.tip.style.top = `${y > 110 ? y - this.tip.offsetHeight - 14 : y + 16}px`;
  }

  /** Left and right walk along the front, Enter pins. */
  key(event, pick) {
    const { front } = this.scene ?? { front: [] };
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Enter" && this.pointed >= 0) pick(this.pointed);
    else if (event.key === "Escape") this.point(-1);
    else if (step && front.length) {
      const now = front.indexOf(this.pointed);
      this.point(front[Math.min(Math.max((now < 0 ? Math.floor(front.length / 2) : now) + step, 0), front.length - 1)]);
    } else return;
    event.preventDefault();
  }
}
