/**
 * A text of a megabyte and more that is decoded at once is kept outside of the heap. A few of those make V8 collect
 * all of it, and to free them makes the pauses of that collection long.
 */
const PART_BYTES = 512 * 1024;

/** The bytes as text, in the heap however many they are. */
export function utf8Text(bytes: Buffer): string {
  if (bytes.length <= PART_BYTES) return bytes.toString('utf8');
  let text = '';
  for (let from = 0; from < bytes.length; ) {
    const to = characterStart(bytes, from + PART_BYTES);
    text += bytes.toString('utf8', from, to);
    from = to;
  }
  return text;
}

/** Where the character begins that this byte is part of. */
function characterStart(bytes: Buffer, at: number): number {
  if (at >= bytes.length) return bytes.length;
  for (let start = at; start > at - LONGEST_CHARACTER; start -= 1) {
    if (((bytes[start] ?? 0) & CONTINUES) !== CONTINUATION) return start;
  }
  return at;
}

const LONGEST_CHARACTER = 4;
const CONTINUES = 0b1100_0000;
const CONTINUATION = 0b1000_0000;
