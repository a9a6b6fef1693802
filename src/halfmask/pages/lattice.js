// Exact decimals as fractions [numerator, denominator] of BigInt, and the lattice on which readings and reports lie.
export function fraction(text) {
  const found = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text.trim());
  if (!found || !(found[2] || found[3])) throw new RangeError("not a decimal");
  const power = BigInt(found[4] ?? 0) - BigInt(found[3].length);
  const whole = BigInt(found[2] + found[3]) * (found[1] === "-" ? -1n : 1n);
  return power < 0n ? reduced(whole, 10n ** -power) : [whole * 10n ** power, 1n];
}
const gcd = (a, b) => (b ? gcd(b, a % b) : a < 0n ? -a : a);
export const reduced = (n, d) => {
  const common = gcd(n, d) || 1n;
  return [n / common, d / common];
};
export const divided = ([a, b], [c, d]) => reduced(a * d, b * c);
const plus = ([a, b], [c, d]) => reduced(a * d + c * b, b * d);
export const times = ([a, b], [c, d]) => reduced(a * c, b * d);
export const floorDivide = (a, b) => (a >= 0n || a % b === 0n ? a / b : a / b - 1n);
export const lcm = (a, b) => (a / gcd(a, b)) * b;
export const real = ([n, d]) => {
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
