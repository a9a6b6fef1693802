// The exact laws of noise, as `halfmask_device.laws` draws them. The only floats are first guesses, which exact bounds then
// confirm or move.
import { divided, floorDivide, fraction, lcm, real, reduced, times } from "./lattice.js";

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
