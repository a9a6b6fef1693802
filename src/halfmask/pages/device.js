// The device's twin for the browser: the same secret gives the same reports as `halfmask_device` in Python.
import { blake2s, Bits, joined, utf8 } from "./keyed_bits.js";
import { law } from "./noise_laws.js";

export { dayKey, newChain } from "./keyed_bits.js";
export { Lattice } from "./lattice.js";

const laws = new Map();

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
