// A text as a vector: pieces of three characters, counted at places that a hash gives. Texts with like
// words are near each other, also where a word is spelled or inflected in another way. No model is needed.

const PLACES = 512;
const PIECE = 3;

export type Vector = Float32Array;

/** Of length 1, so that the product of two says how near they are. */
export function toVector(words: Iterable<string>, weightOf: (word: string) => number): Vector {
  const vector = new Float32Array(PLACES);
  for (const word of words) {
    const padded = ` ${word} `;
    const count = Math.max(1, padded.length - PIECE + 1);
    const weight = weightOf(word) / Math.sqrt(count);
    for (let at = 0; at < count; at += 1) {
      const hash = hashOf(padded, at, Math.min(at + PIECE, padded.length));
      // Half of the pieces count down: two that share a place by chance do not add up.
      const sign = hash & 1 ? -1 : 1;
      const place = (hash >>> 1) % PLACES;
      vector[place] = (vector[place] ?? 0) + sign * weight;
    }
  }
  return toUnit(vector);
}

export function product(one: Vector, other: Vector): number {
  let sum = 0;
  for (let at = 0; at < PLACES; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

function toUnit(vector: Vector): Vector {
  const length = Math.sqrt(product(vector, vector));
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** FNV-1a. */
function hashOf(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
