// The device's twin for the browser: the same secret gives the same reports as `halfmask_device` in Python.
// Whole numbers are BigInt; the only floats are first guesses, which exact bounds then confirm or move.

// ---- BLAKE2s (RFC 7693) with key, personalisation and digest size ----
const IV = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0"
].map((row) => [...row].map((digit) => parseInt(digit, 16)));

const utf8 = (text) => new TextEncoder().encode(text);
const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));

function compress(h, block, counter, last) {
  const m = new Uint32Array(block.buffer.slice(block.byteOffset, block.byteOffset + 64));
  const v = Uint32Array.from([...h, ...IV]);
  v[12] ^= counter;
  if (last) v[14] = ~v[14];
  const mix = (a, b, c, d, x, y) => {
    const turn = (word, by) => (word >>> by) | (word << (32 - by));
    v[a] = v[a] + v[b] + x;
    v[d] = turn(v[d] ^ v[a], 16);
    v[c] = v[c] + v[d];
    v[b] = turn(v[b] ^ v[c], 12);
    v[a] = v[a] + v[b] + y;
    v[d] = turn(v[d] ^ v[a], 8);
    v[c] = v[c] + v[d];
    v[b] = turn(v[b] ^ v[c], 7);
  };
  for (const s of SIGMA) {
    for (let i = 0; i < 4; i++) mix(i, i + 4, i + 8, i + 12, m[s[2 * i]], m[s[2 * i + 1]]);
    for (let i = 0; i < 4; i++) {
      mix(i, 4 + ((i + 1) % 4), 8 + ((i + 2) % 4), 12 + ((i + 3) % 4), m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
    }
  }
  for (let i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
}

export function blake2s(data, { key = new Uint8Array(), person = "", size = 32 } = {}) {
  const named = new Uint8Array(8);
  named.set(utf8(person));
  const words = new Uint32Array(named.buffer);
  const h = Uint32Array.from(IV);
  h[0] ^= 0x01010000 ^ (key.length << 8) ^ size;
  h[6] ^= words[0];
  h[7] ^= words[1];
  const padded = new Uint8Array(key.length ? 64 : 0);
  padded.set(key);
  const all = joined(padded, data);
  const blocks = Math.max(1, Math.ceil(all.length / 64));
  for (let i = 0; i < blocks; i++) {
    const block = new Uint8Array(64);
    block.set(all.subarray(64 * i, 64 * i + 64));
    compress(h, block, Math.min(64 * (i + 1), all.length), i === blocks - 1);
  }
  return new Uint8Array(h.buffer).slice(0, size);
}

const keyed = (key, purpose) => blake2s(new Uint8Array(), { key, person: purpose });
const bigEndian = (bytes) => bytes.reduce((whole, byte) => (whole << 8n) | BigInt(byte), 0n);

// ---- bits and keys ----
export class Bits {
  constructor(key, message) {
    Object.assign(this, { key, message, number: 0, held: 0n, size: 0n });
  }
  bits(count) {
    const wanted = BigInt(count);
    while (this.size < wanted) {
      const number = new Uint8Array(4);
      new DataView(number.buffer).setUint32(0, this.number++);
      const block = blake2s(joined(this.message, number), { key: this.key, person: "noise" });
      this.held = (this.held << 192n) | bigEndian(block.subarray(0, 24));
      this.size += 192n;
    }
    this.size -= wanted;
    const drawn = this.held >> this.size;
    this.held &= (1n << this.size) - 1n;
    return drawn;
  }
  below(bound) {
    const size = bound > 1n ? (bound - 1n).toString(2).length : 0;
    for (;;) {
      const drawn = this.bits(size);
      if (drawn < bound) return drawn;
    }
  }
}

export const newChain = () => crypto.getRandomValues(new Uint8Array(32));

/** The key of a day (days since 1970) from the chain's link of an earlier day. */
export function dayKey(chain, from, day) {
  if (day < from) throw new RangeError("the keys of earlier days were deleted");
  let link = chain;
  for (let i = from; i < day; i++) link = keyed(link, "next");
  return keyed(link, "day");
}

// ---- exact decimals and fractions [numerator, denominator] ----
export function fraction(text) {
  const found = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text.trim());
  if (!found || !(found[2] || found[3])) throw new RangeError("not a decimal");
  const power = BigInt(found[4] ?? 0) - BigInt(found[3].length);
  const whole = BigInt(found[2] + found[3]) * (found[1] === "-" ? -1n : 1n);
  return power < 0n ? reduced(whole, 10n ** -power) : [whole * 10n ** power, 1n];
}
const gcd = (a, b) => (b ? gcd(b, a % b) : a < 0n ? -a : a);
const reduced = (n, d) => {
  const common = gcd(n, d) || 1n;
  return [n / common, d / common];
};
const divided = ([a, b], [c, d]) => reduced(a * d, b * c);
const plus = ([a, b], [c, d]) => reduced(a * d + c * b, b * d);
const times = ([a, b], [c, d]) => reduced(a * c, b * d);
const floorDivide = (a, b) => (a >= 0n || a % b === 0n ? a / b : a / b - 1n);
const lcm = (a, b) => (a / gcd(a, b)) * b;
const real = ([n, d]) => {
  const shift = BigInt(Math.max(0, n.toString(2).length - 900, d.toString(2).length - 900));
  return Number(n >> shift) / Number(d >> shift);
};

export class Lattice {
  constructor(step, low, high) {
    this.step = fraction(step);
    [this.low, this.high] = [low, high].map((end) => {
      const [steps, rest] = divided(fraction(end), this.step);
      if (rest !== 1n) throw new RangeError("an end of the range is no multiple of the step");
      return steps;
    });
    this.places = 0;
    while ((this.step[0] * 10n ** BigInt(this.places)) % this.step[1]) this.places++;
    this.texts = [this.text(1n), this.text(this.low), this.text(this.high)];
  }
  /** A reading in steps: the nearest lattice point, halves upwards, held within the range. */
  steps(value) {
    return this.nearest(fraction(String(value)));
  }
  /** The total of a period's readings in steps: added up exactly, and only then rounded and held within the range. */
  total(values) {
    return this.nearest(values.map((value) => fraction(String(value))).reduce(plus, [0n, 1n]));
  }
  nearest(number) {
    const [n, d] = divided(number, this.step);
    const nearest = floorDivide(2n * n + d, 2n * d);
    return nearest < this.low ? this.low : nearest > this.high ? this.high : nearest;
  }
  text(steps) {
    const size = steps < 0n ? -steps : steps;
    const digits = ((size * this.step[0] * 10n ** BigInt(this.places)) / this.step[1]).toString();
    const padded = digits.padStart(this.places + 1, "0");
    const cut = padded.length - this.places;
    return (steps < 0n ? "-" : "") + (this.places ? `${padded.slice(0, cut)}.${padded.slice(cut)}` : padded);
  }
}

// ---- exact bounds ----
/** Bounds of 2^bits exp(-n/d): Taylor's series of exp(-x/2^halvings), squared back, each rounded down and up. */
function decay([n, d], bits) {
  const extra = 64n + BigInt(n.toString(2).length);
  const width = BigInt(bits) + 2n * extra;
  const one = 1n << width;
  let halvings = 0n;
  while (n >> halvings > d >> 8n) halvings++;
  const x = [(n << width) / (d << halvings), (n << width) / (d << halvings) + 1n];
  const series = (argument, up) => {
    let [term, total, k] = [one, one, 1n];
    while (term > 0n) {
      term = (term * argument) / (one * k);
      total += k % 2n ? -term : term;
      k++;
    }
    return up ? total + k : total - k;
  };
  let [low, high] = [series(x[1], false), series(x[0], true)];
  for (let i = 0n; i < halvings; i++) [low, high] = [(low * low) >> width, ((high * high) >> width) + 1n];
  const down = width - BigInt(bits);
  return [low >> down, (high >> down) + 1n];
}

/** |k| and its sign from U, bit by bit: the largest n with U >= P(|k| < n), by bounds that grow sharper. */
function invert(source, below, guess) {
  let [u, bits] = [source.bits(64), 64];
  for (;;) {
    const reached = (n) => n <= 0n || below(n, bits)[1] <= u;
    let n = guess(Number(u) / 2 ** bits);
    while (!reached(n)) n--;
    while (reached(n + 1n)) n++;
    if (u + 1n <= below(n + 1n, bits)[0]) return source.bits(1) ? -n : n;
    [u, bits] = [(u << 64n) | source.bits(64), bits + 64];
  }
}

function laplaceBelow([a, b]) {
  const cache = new Map();
  return (n, bits) => {
    const one = 1n << BigInt(bits);
    if (!cache.has(bits)) cache.set(bits, decay([b, a], bits + 16));
    const [least, most] = cache.get(bits);
    const [low, high] = decay([n * b, a], bits + 16);
    const wide = 1n << BigInt(bits + 16);
    const tail = [(2n * low * one) / (wide + most), (2n * high * one) / (wide + least) + 1n];
    return [tail[1] > one ? 0n : one - tail[1], one - tail[0]];
  };
}

function gaussianSums([a, b], bits) {
  const width = BigInt(bits) + 64n;
  const one = 1n << width;
  const sharp = (n, d) => decay([n, d], Number(width) + 16).map((each, i) => (each >> 16n) + BigInt(i));
  let [[r, topR], [q, topQ]] = [sharp(b * b, 2n * a * a), sharp(b * b, a * a)];
  let [w, topW, low, high] = [one, one, one, one];
  const found = [[low, high]];
  while (w) {
    [w, topW] = [(w * r) >> width, ((topW * topR) >> width) + 1n];
    [r, topR] = [(r * q) >> width, ((topR * topQ) >> width) + 1n];
    [low, high] = [low + 2n * w, high + 2n * topW];
    found.push([low, high]);
  }
  return { found, least: low, most: high + 2n * ((topW * one) / (one - topR) + 1n) };
}

function gaussianBelow(scale) {
  const cache = new Map();
  return (n, bits) => {
    if (!cache.has(bits)) cache.set(bits, gaussianSums(scale, bits));
    const { found, least, most } = cache.get(bits);
    const one = 1n << BigInt(bits);
    const [low, high] = found[Math.min(Number(n), found.length) - 1];
    const upper = (high * one) / least + 1n;
    return [(low * one) / most, n <= BigInt(found.length) && upper < one ? upper : one];
  };
}

// ---- rejection in integers, for wide laws (Canonne, Kamath and Steinke 2020) ----
function bernoulliExp(source, n, d) {
  while (n > d) {
    if (!bernoulliExp(source, 1n, 1n)) return false;
    n -= d;
  }
  let k = 1n;
  while (source.below(d * k) < n) k++;
  return k % 2n === 1n;
}

function geometric(source, n, d) {
  let u;
  do u = source.below(d);
  while (!bernoulliExp(source, u, d));
  let v = 0n;
  while (bernoulliExp(source, 1n, 1n)) v++;
  return (u + d * v) / n;
}

function wideLaplace(source, [t, s]) {
  for (;;) {
    const size = geometric(source, s, t);
    const negative = source.bits(1);
    if (size || !negative) return negative ? -size : size;
  }
}

function root(n) {
  let x = BigInt(Math.floor(Math.sqrt(Number(n))));
  while (x * x > n) x--;
  while ((x + 1n) * (x + 1n) <= n) x++;
  return x;
}

function wideGaussian(source, [n, d]) {
  const t = root(n / d) + 1n;
  for (;;) {
    const y = wideLaplace(source, [t, 1n]);
    const size = y < 0n ? -y : y;
    if (bernoulliExp(source, (size * t * d - n) ** 2n, 2n * n * d * t * t)) return y;
  }
}

// ---- continuous noise, rounded ----
function uniform(source, [p, q]) {
  return floorDivide(source.below(4n * p) - 2n * p + q, 2n * q);
}

function tabulated(source, y, c) {
  const cells = 2n * y.reduce((all, [, d]) => lcm(all, d), 1n);
  const ends = [0n, ...y.map(([n, d]) => (n * cells) / d)];
  const whole = c.reduce((all, [, d]) => lcm(all, d), 1n);
  const masses = c.map(([n, d]) => (n * whole) / d);
  const drawn = source.below(whole);
  const piece = masses.findIndex((mass) => mass > drawn);
  const size = (ends[piece] + source.below(ends[piece + 1] - ends[piece]) + cells / 2n) / cells;
  return source.bits(1) ? -size : size;
}

function staircase(source, epsilon, delta, gamma) {
  const cells = 2n * delta[0] * gamma[1];
  const step = 2n * delta[1] * gamma[1];
  const first = (gamma[0] * cells) / gamma[1];
  const within = () => {
    let [drawn, bits] = [0n, 0];
    for (;;) {
      [drawn, bits] = [(drawn << 64n) | source.bits(64), bits + 64];
      const one = 1n << BigInt(bits);
      const e = decay(epsilon, bits + 16).map((each) => [each, 1n << BigInt(bits + 16)]);
      // p = gamma / (gamma + e (1 - gamma)) falls as e grows
      const share = ([n, d]) => [gamma[0] * d, gamma[0] * d + n * (gamma[1] - gamma[0])];
      const [lowest, highest] = [share(e[1]), share(e[0])];
      if ((drawn + 1n) * lowest[1] <= lowest[0] * one) return true;
      if (drawn * highest[1] >= highest[0] * one) return false;
    }
  };
  const v = gamma[0] && within() ? source.below(first) : first + source.below(cells - first);
  const size = (geometric(source, ...epsilon) * cells + v + step / 2n) / step;
  return source.bits(1) ? -size : size;
}

const pies = new Map();
function pi(width) {
  if (!pies.has(width)) {
    const one = 1n << (width + 32n);
    const arctan = (n) => {
      let [power, total, k] = [one / n, one / n, 1n];
      while (power) {
        power /= n * n;
        k += 2n;
        total += (k % 4n === 1n ? power : -power) / k;
      }
      return total;
    };
    pies.set(width, (16n * arctan(5n) - 4n * arctan(239n)) >> 32n);
  }
  return pies.get(width);
}

function sine(source, coefficients) {
  const denominator = coefficients.reduce((all, [, d]) => lcm(all, d), 1n);
  const numerators = coefficients.map(([n, d]) => (n * denominator) / d).reverse();
  const steps = (x, width) => {
    const total = numerators.reduce((sum, n, shift) => sum * x * x + (n << (2n * width * BigInt(shift))), 0n);
    const whole = denominator << (BigInt(2 * numerators.length - 1) * width);
    return (2n * total * x + whole) / (2n * whole);
  };
  let [drawn, bits] = [0n, 0n];
  for (;;) {
    [drawn, bits] = [(drawn << 64n) | source.bits(64), bits + 64n];
    const width = bits + 64n;
    const angle = (pi(width) * drawn) >> (bits + 1n);
    const square = (angle * angle) >> width;
    let [total, term, j] = [angle, angle, 1n];
    while (term) {
      term = ((term * square) >> width) / (2n * j * (2n * j + 1n));
      total += j % 2n ? -term : term;
      j++;
    }
    const most = 1n << width;
    const [from, to] = [total - width, total + width + (2n << 64n)];
    const [low, high] = [steps(from < 0n ? 0n : from, width), steps(to > most ? most : to, width)];
    if (low === high) return source.bits(1) ? -low : low;
  }
}

/** P(|k| < n) = 1 - (1 - (n - 1/2)/a)^2, a = p/q. */
function triangularBelow([p, q]) {
  return (n, bits) => {
    const rest = 2n * p - (2n * n - 1n) * q;
    const one = 1n << BigInt(bits);
    if (rest <= 0n) return [one, one];
    const [part, whole] = [4n * p * p - rest * rest, 4n * p * p];
    return [(part * one) / whole, (part * one + whole - 1n) / whole];
  };
}

/** P(|k| < n) = (1 - e)/(1 + e), e = exp(-(n - 1/2)/scale). */
function logisticBelow([a, b]) {
  return (n, bits) => {
    const [one, wide] = [1n << BigInt(bits), 1n << BigInt(bits + 16)];
    const [least, most] = decay([(2n * n - 1n) * b, 2n * a], bits + 16);
    const low = most > wide ? 0n : ((wide - most) * one) / (wide + most);
    return [low, ((wide - least) * one) / (wide + least) + 1n];
  };
}

/** True with probability 1/(1 + exp(-n/d)). */
function sigmoid(source, [n, d]) {
  for (;;) {
    if (source.bits(1)) return n >= 0n;
    if (bernoulliExp(source, n < 0n ? -n : n, d)) return n < 0n;
  }
}

function wideLogistic(source, scale) {
  for (;;) {
    const k = wideLaplace(source, scale);
    const size = k < 0n ? -k : k;
    const coins = [-1n, 1n].map((side) => sigmoid(source, reduced((2n * size + side) * scale[1], 2n * scale[0])));
    if (coins.every(Boolean)) return k;
  }
}

// ---- settings ----
const WIDE = 4096n;
const laws = new Map();

/** Draws k of a setting like laplace:0.5 or laplace:2.5@total on a step: a function of a source of bits. */
export function law(setting, step) {
  const [written, release = "reading"] = setting.split("@");
  if (!["reading", "total"].includes(release)) throw new RangeError("a device alone masks readings and totals");
  const [name, numbers = ""] = written.split(":");
  const p = numbers ? numbers.split(",").map(fraction) : [];
  const scale = p.length ? divided(p[0], step) : null;
  const wide = scale && scale[0] > WIDE * scale[1];
  if (name === "none") return () => 0n;
  if (name === "laplace" || name === "geometric") {
    if (wide) return (source) => wideLaplace(source, scale);
    const [below, b] = [laplaceBelow(scale), real(scale)];
    const guess = (u) => BigInt(Math.max(0, Math.floor(-b * Math.log(Math.max((1 - u) * (1 + Math.exp(-1 / b)) / 2, 1e-19)))));
    return (source) => invert(source, below, guess);
  }
  if (name === "gaussian") {
    if (wide) return (source) => wideGaussian(source, times(scale, scale));
    const [below, s] = [gaussianBelow(scale), real(scale)];
    return (source) => invert(source, below, gaussianGuess(below, s));
  }
  if (name === "triangular") {
    const [below, a] = [triangularBelow(scale), real(scale)];
    return (source) => invert(source, below, (u) => BigInt(Math.floor(a * (1 - Math.sqrt(1 - u)) + 0.5)));
  }
  if (name === "logistic") {
    if (wide) return (source) => wideLogistic(source, scale);
    const [below, s] = [logisticBelow(scale), real(scale)];
    return (source) => invert(source, below, (u) => BigInt(Math.floor(2 * s * Math.atanh(Math.min(u, 1 - 1e-16)) + 0.5)));
  }
  if (name === "uniform") return (source) => uniform(source, scale);
  if (name === "staircase") return (source) => staircase(source, p[0], divided(p[1], step), p[2]);
  if (name === "sine") {
    const power = (theta, k) => Array(2 * k).fill(theta).reduce(times, theta);
    const coefficients = p.map((theta, k) => divided(power(theta, k), step));
    return (source) => sine(source, coefficients);
  }
  if (name === "tabulated") {
    const y = p.filter((_, i) => i % 2 === 0).map((each) => divided(each, step));
    const c = p.filter((_, i) => i % 2 === 1);
    return (source) => tabulated(source, y, c);
  }
  throw new RangeError("a device has no exact sampler for this setting");
}

/** A first guess of |k|, by bisection of the exact bounds at 64 bits. */
function gaussianGuess(below, s) {
  return (u) => {
    const wanted = BigInt(Math.floor(u * 2 ** 53)) << 11n;
    let [low, high] = [0n, BigInt(Math.ceil(10 * s)) + 2n];
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      [low, high] = below(middle, 64)[1] <= wanted ? [middle, high] : [low, middle];
    }
    return low;
  };
}

/**
 * The report of one reading, in steps. `time` is in its one spelling (2026-01-01T00:30:00+00:00), `key` its day's.
 * A total (a setting that ends in @total) is masked like a reading: `steps` is `Lattice.total` of the period's readings,
 * `time` the first instants of this period and of the next one, with a slash between, and `key` that of the first one's day.
 */
export function report(setting, lattice, { sensor = "", time, key, steps }) {
  const name = `${setting}@${lattice.texts.join(",")}`;
  if (!laws.has(name)) laws.set(name, law(setting, lattice.step));
  const head = blake2s(utf8(name), { person: "channel", size: 16 });
  const place = utf8(`${[...sensor].length}:${sensor}${[...time].length}:${time}=${steps}`);
  return steps + laws.get(name)(new Bits(key, joined(head, place)));
}
