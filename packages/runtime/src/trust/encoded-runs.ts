// Long runs of base64, hex or percent escapes. A run that decodes to readable text hides words; one that
// does not is `opaque`. Digests and media, which are everywhere in honest text, are
// neither.

export interface EncodedRun {
  readonly kind: 'readable' | 'opaque';
  /** What a readable run says. */
  readonly decoded?: string;
}

const LEAST = 50;
const MOST_RUNS = 64;
const MOST_CHARACTERS = 16_384;
const HEX_DIGESTS = new Set([40, 56, 64, 96, 128]);
const RUN = new RegExp(
  `[A-Za-z0-9+/_-]{${LEAST},}={0,2}|(?:%[0-9A-Fa-f]{2}){${Math.ceil(LEAST / 3)},}`,
  'g',
);
/** How base64 of pictures, documents and sound begins. */
const MEDIA =
  /^(?:iVBORw0KGgo|\/9j\/|R0lGOD|JVBERi0|UklGR|SUkqA|AAAA[A-Za-z0-9+/]{4}ZnR5c|PHN2Zy|PD94bWw)/;
/** Bits per character: English words in a row stay below, random base64 is near 6. */
const OPAQUE_ENTROPY = 4.7;

export function encodedRuns(text: string): EncodedRun[] {
  const runs: EncodedRun[] = [];
  if (text.length < LEAST) return runs;
  for (const match of text.matchAll(RUN)) {
    if (runs.length === MOST_RUNS) break;
    const run = toRun(match[0].slice(0, MOST_CHARACTERS), isDigest(text, match.index, match[0]));
    if (run) runs.push(run);
  }
  return runs;
}

function toRun(run: string, digest: boolean): EncodedRun | undefined {
  const decoded = decode(run);
  if (isReadable(decoded)) return { kind: 'readable', decoded };
  if (digest || run.startsWith('%') || MEDIA.test(run)) return undefined;
  return isHex(run) || (isMixed(run) && entropyOf(run) > OPAQUE_ENTROPY)
    ? { kind: 'opaque' }
    : undefined;
}

function decode(run: string): string {
  if (run.startsWith('%')) return Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8');
  return Buffer.from(run, isHex(run) ? 'hex' : 'base64').toString('utf8');
}

/** Nearly all of it printable, most of it letters and spaces. */
function isReadable(text: string): boolean {
  if (text.length < LEAST / 3) return false;
  let printable = 0;
  let letters = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if ((code >= 32 && code < 127) || code === 10 || code === 13 || code === 9) printable += 1;
    if ((code | 32) >= 97 && (code | 32) <= 122) letters += 1;
  }
  return printable > text.length * 0.95 && letters > text.length * 0.5;
}

function isDigest(text: string, index: number, run: string): boolean {
  if (isHex(run)) return HEX_DIGESTS.has(run.length);
  return (
    /sha(?:1|256|384|512)[-:]$/.test(text.slice(Math.max(0, index - 7), index)) ||
    /^sha(?:256|384|512)-/.test(run)
  );
}

function isHex(run: string): boolean {
  return /^[0-9A-Fa-f]+$/.test(run);
}

function isMixed(run: string): boolean {
  return /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run);
}

function entropyOf(run: string): number {
  const counts = new Map<string, number>();
  for (const character of run) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / run.length) * Math.log2(count / run.length);
  return bits;
}
