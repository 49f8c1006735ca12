// SHA-256 (FIPS 180-4) of a string's UTF-8 bytes, synchronous and free of any platform: core does
// no I/O and Web Crypto is asynchronous. For names and pins, not for bulk data.

const K = Uint32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)));
const INITIAL = Uint32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));

export function sha256Hex(text: string): string {
  const hash = Uint32Array.from(INITIAL);
  const padded = pad(new TextEncoder().encode(text));
  const schedule = new Uint32Array(64);
  for (let offset = 0; offset < padded.byteLength; offset += 64) {
    compress(hash, schedule, padded, offset);
  }
  return Array.from(hash, (word) => word.toString(16).padStart(8, '0')).join('');
}

function pad(bytes: Uint8Array): DataView {
  const length = Math.ceil((bytes.length + 9) / 64) * 64;
  const padded = new Uint8Array(length);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(length - 4, bytes.length << 3);
  return view;
}

function compress(hash: Uint32Array, w: Uint32Array, block: DataView, offset: number): void {
  for (let t = 0; t < 16; t += 1) w[t] = block.getUint32(offset + t * 4);
  for (let t = 16; t < 64; t += 1) {
    const x = w[t - 15] ?? 0;
    const y = w[t - 2] ?? 0;
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[t] = (w[t - 16] ?? 0) + s0 + (w[t - 7] ?? 0) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let t = 0; t < 64; t += 1) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + sum1 + choice + (K[t] ?? 0) + (w[t] ?? 0)) | 0;
    const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + sum0 + majority) | 0];
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) {
    hash[index] = (hash[index] ?? 0) + word;
  }
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** The first 32 bits of the fractional part. */
function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n += 1) {
    if (found.every((prime) => n % prime !== 0)) found.push(n);
  }
  return found;
}
