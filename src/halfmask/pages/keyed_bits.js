// BLAKE2s (RFC 7693) with key, personalisation and digest size; the bits that noise is drawn from, and the keys of days.
const IV = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0"
].map((row) => [...row].map((digit) => parseInt(digit, 16)));

export const utf8 = (text) => new TextEncoder().encode(text);
export const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));

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
