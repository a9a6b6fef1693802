// Prio3Sum of draft-irtf-cfrg-vdaf-20 for the browser: the same random bytes give the same shares as
// `halfmask_device.prio3` in Python. Field elements are BigInt, Keccak works on pairs of 32-bit words. `splitRequests`
// makes the whole reports of a split campaign.

// ---- TurboSHAKE128 (RFC 9861) ----
const RATE = 168;
const ROUNDS = [
  0x000000008000808bn, 0x800000000000008bn, 0x8000000000008089n, 0x8000000000008003n, 0x8000000000008002n,
  0x8000000000000080n, 0x000000000000800an, 0x800000008000000an, 0x8000000080008081n, 0x8000000000008080n,
  0x0000000080000001n, 0x8000000080008008n
].map((constant) => [Number(constant & 0xffffffffn) | 0, Number(constant >> 32n) | 0]);

/** Where each lane comes from under pi after rho, and how far it is rotated. */
const MOVES = (() => {
  const moves = [[0, 0]];
  for (let step = 0, x = 1, y = 0; step < 24; step++) {
    const to = y + 5 * ((2 * x + 3 * y) % 5);
    moves[to] = [x + 5 * y, (((step + 1) * (step + 2)) / 2) % 64];
    [x, y] = [y, (2 * x + 3 * y) % 5];
  }
  return moves;
})();

/** One half of a rotated lane: the bits of `here`, and those that come over from `there`. */
const turned = (here, there, by) => (by ? (here << by) | (there >>> (32 - by)) : here);

/** Keccak-p[1600, 12] in place: lane i is words 2 i (low) and 2 i + 1 (high). */
function keccak(state) {
  const [columns, moved] = [new Int32Array(10), new Int32Array(50)];
  for (const [low, high] of ROUNDS) {
    for (let i = 0; i < 10; i++) columns[i] = state[i] ^ state[i + 10] ^ state[i + 20] ^ state[i + 30] ^ state[i + 40];
    for (let x = 0; x < 5; x++) {
      const [before, after] = [2 * ((x + 4) % 5), 2 * ((x + 1) % 5)];
      const changeLow = columns[before] ^ turned(columns[after], columns[after + 1], 1);
      const changeHigh = columns[before + 1] ^ turned(columns[after + 1], columns[after], 1);
      for (let i = 2 * x; i < 50; i += 10) {
        state[i] ^= changeLow;
        state[i + 1] ^= changeHigh;
      }
    }
    MOVES.forEach(([from, by], to) => {
      const swap = by >= 32 ? 1 : 0;
      const [first, second] = [state[2 * from + swap], state[2 * from + 1 - swap]];
      moved[2 * to] = turned(first, second, by % 32);
      moved[2 * to + 1] = turned(second, first, by % 32);
    });
    for (let row = 0; row < 50; row += 10) {
      for (let i = 0; i < 10; i++) {
        state[row + i] = moved[row + i] ^ (~moved[row + ((i + 2) % 10)] & moved[row + ((i + 4) % 10)]);
      }
    }
    state[0] ^= low;
    state[1] ^= high;
  }
}

const bytes = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));

/** The 64-bit words of XofTurboShake128, one after the other. */
function* words(seed, domain, binder) {
  const message = bytes([domain.length & 255, domain.length >> 8], domain, [seed.length], seed, binder, [1]);
  const padded = new Uint8Array(Math.ceil(message.length / RATE) * RATE);
  padded.set(message);
  padded[padded.length - 1] ^= 0x80;
  const [state, view] = [new Int32Array(50), new DataView(padded.buffer)];
  for (let start = 0; start < padded.length; start += RATE) {
    for (let i = 0; i < RATE / 4; i++) state[i] ^= view.getInt32(start + 4 * i, true);
    keccak(state);
  }
  for (;;) {
    for (let i = 0; i < RATE / 4; i += 2) yield (BigInt(state[i + 1] >>> 0) << 32n) | BigInt(state[i] >>> 0);
    keccak(state);
  }
}

// ---- the field of p elements, and polynomials by their values at roots of unity ----
const P = 2n ** 64n - 2n ** 32n + 1n;
const modulo = (value) => ((value % P) + P) % P;

function power(base, exponent) {
  let result = 1n;
  for (let rest = exponent; rest; rest >>= 1n, base = (base * base) % P) if (rest & 1n) result = (result * base) % P;
  return result;
}

function roots(n) {
  const root = power(7n, (P - 1n) / BigInt(n));
  const found = [1n];
  while (found.length < n) found.push((found.at(-1) * root) % P);
  return found;
}

/** The next elements of a stream: its words, without those from p upwards. */
function drawn(stream, count) {
  const found = [];
  while (found.length < count) {
    const word = stream.next().value;
    if (word < P) found.push(word);
  }
  return found;
}

function transformed(values, powers) {
  if (values.length === 1) return values;
  const part = (first) => values.filter((_, i) => i % 2 === first);
  const half = powers.filter((_, i) => i % 2 === 0);
  const [even, odd] = [transformed(part(0), half), transformed(part(1), half)];
  const other = odd.map((value, i) => (value * powers[i]) % P);
  return [...even.map((value, i) => (value + other[i]) % P), ...even.map((value, i) => modulo(value - other[i]))];
}

/** The values of the same polynomial at twice as many roots of unity. */
function doubled(values) {
  const n = values.length;
  const [points, twisted, inverse] = [roots(n), roots(2 * n), power(BigInt(n), P - 2n)];
  const coefficients = transformed(values, [1n, ...points.slice(1).reverse()]);
  const between = transformed(coefficients.map((c, i) => (((c * inverse) % P) * twisted[i]) % P), points);
  return values.flatMap((value, i) => [value, between[i]]);
}

function encoded(elements) {
  const data = new DataView(new ArrayBuffer(8 * elements.length));
  elements.forEach((element, i) => data.setBigUint64(8 * i, element, true));
  return new Uint8Array(data.buffer);
}

// ---- sharding ----
/** The measurement's elements, each 0 or 1: they weigh 1, 2, 4, ..., and the last one what is missing to the maximum. */
function elementsOf(measurement, maximum) {
  if (measurement < 0n || measurement > maximum) throw new RangeError("the measurement is out of range");
  const bits = maximum.toString(2).length;
  const last = maximum - (1n << BigInt(bits - 1)) + 1n;
  const full = measurement > maximum - last ? 1n : 0n;
  const rest = measurement - full * last;
  return [...Array.from({ length: bits - 1 }, (_, i) => (rest >> BigInt(i)) & 1n), full];
}

/** The proof that each element is 0 or 1; `seed` is a random element. */
function prove(elements, seed) {
  const length = 2 ** elements.length.toString(2).length;
  const wire = [seed, ...elements, ...Array(length - elements.length - 1).fill(0n)];
  return [seed, ...doubled(wire).map((value) => modulo(value * value - value))].slice(0, 2 * length);
}

/**
 * The shares of a measurement (BigInt) of 0 .. maximum (BigInt): the leader's first. `context` is text, and `random` has
 * 32 fresh random bytes per holder: the helpers' seeds, and one from which the proof is drawn.
 */
export function shard(maximum, context, measurement, random) {
  if (maximum < 1n || maximum >= 2n ** 32n) throw new RangeError("the largest measurement is not in 1 .. 2^32 - 1");
  const domain = (usage) => bytes([18, 0, 0, 0, 0, 2, 0, usage], new TextEncoder().encode(context));
  const seeds = Array.from({ length: random.length / 32 }, (_, i) => random.slice(32 * i, 32 * i + 32));
  const prover = seeds.pop();
  const elements = elementsOf(measurement, maximum);
  let whole = [...elements, ...prove(elements, drawn(words(prover, domain(4), [1]), 1)[0])];
  seeds.forEach((seed, i) => {
    const [first, rest] = [words(seed, domain(1), [i + 1]), words(seed, domain(2), [1, i + 1])];
    const helper = [...drawn(first, elements.length), ...drawn(rest, whole.length - elements.length)];
    whole = whole.map((element, j) => modulo(element - helper[j]));
  });
  return [encoded(whole), ...seeds];
}

/** A split report of a measurement, from fresh randomness: a nonce, and one share for each of two services. */
export function splitReport(maximum, context, measurement) {
  const fresh = (size) => crypto.getRandomValues(new Uint8Array(size));
  const [leader, helper] = shard(maximum, context, measurement, fresh(64));
  return { nonce: fresh(16), leader, helper };
}

// ---- whole reports of the sharing protocol ----
/** What a decimal of the terms is in units of its last digit: all of a lattice's numbers have as many digits. */
const units = (text) => BigInt(text.replace(".", ""));

/** Whether both services show one text of terms, and it names them: what a device checks before it joins. */
export function sameTerms(leader, offer, shown) {
  const { campaign, split, lattice } = offer;
  if (!split?.terms || shown.terms !== split.terms || shown.leader !== leader || shown.campaign !== campaign) return false;
  const terms = JSON.parse(split.terms);
  const plain = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  const same = (name) => plain(terms.lattice[name]) === plain(lattice[name]);
  return terms.leader === leader && terms.campaign === campaign && terms.helper === split.helper && ["step", "low", "high"].every(same);
}

/**
 * Cut a total, in steps of the lattice, and return what goes to each service as a path and the item of a body: the
 * helper's first. Store both before sending, send the same again until there is an answer, and nothing to the leader if
 * the helper refuses. `time` is the first instant of the period, and `setting` the id of the split level.
 */
export async function splitRequests(offer, setting, time, steps) {
  const { terms, campaign: held } = offer.split;
  const { campaign, lattice } = JSON.parse(terms);
  const [step, low, high] = [lattice.step, lattice.low, lattice.high].map(units);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(terms)));
  const hex = (data) => [...data].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const base64 = (data) => btoa(String.fromCharCode(...data));
  const context = `halfmask/1/${campaign}/${hex(digest)}`;
  const made = splitReport((high - low) / step, context, BigInt(steps) - low / step);
  const report = hex(made.nonce);
  return {
    helper: { path: `/v1/split/${held}/shares`, share: { time, report, share: base64(made.helper) } },
    leader: { path: "/v1/reports", report: { time, setting, report, share: base64(made.leader) } }
  };
}
