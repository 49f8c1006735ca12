// Text of agents is text. Preact escapes markup; this removes what would still mislead a reader:
// terminal sequences, control characters, and marks that turn the direction of what follows.

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const INVISIBLE = /[\u00ad\u200b\u2060-\u2064\ufeff\u{e0000}-\u{e007f}]/gu;

/** Most texts are plain already, and a list shows hundreds of them a second. */
const PLAIN = /^[ -~\n]*$/;

export function plainText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .replace(/\r\n?/g, '\n')
    .replace(ANSI, '')
    .replace(CONTROL, '\ufffd')
    .replace(DIRECTION, '\ufffd')
    .replace(INVISIBLE, '\ufffd');
}

/** Of letters that all run from left to right, on one line. */
export function isPlainLine(text: string): boolean {
  return PLAIN.test(text) && !text.includes('\n');
}

/** One line: breaks become spaces, the rest is cut at `limit`. */
export function oneLine(text: string, limit = 200): string {
  const line = plainText(text.slice(0, limit * 4))
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}
