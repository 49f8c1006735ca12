// Text of agents, tools and servers is not ours. Escape sequences could move the cursor, forge a
// prompt or rename the window, and bidi controls could reorder what a person reads.

/** Whole escape sequences first, so that no remains of them are shown; then single characters. */
const ACTS_ON_TERMINAL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be shown
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The text without anything that a terminal would act on; line breaks and tabs stay. */
export function toPlainText(text: string): string {
  return text.replace(ACTS_ON_TERMINAL, '');
}

export function toOneLine(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = toPlainText(text).replace(/\s+/g, ' ').trim();
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

/** Characters that are not seen, or that change how others are seen, by their number. */
export function toVisible(text: string): string {
  return text.replaceAll(/[\p{C}\p{DI}\u2028\u2029]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** One line of ours with values of others, none of which can end it or hide a part of it. */
export function line(texts: TemplateStringsArray, ...values: readonly unknown[]): string {
  return String.raw({ raw: texts }, ...values.map((value) => toVisible(String(value))));
}

/** JSON.stringify leaves these as they are. */
const UNSAFE_IN_JSON = /[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef]/g;

/** JSON on one line in which such characters are escaped: safe to show, and nothing is lost. */
export function toSafeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? 'null';
  return text.replace(UNSAFE_IN_JSON, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

// Colours of our own. `paint` marks text with noncharacters of Unicode, and the terminal turns the
// marks into escape sequences, or drops them, after it has removed every escape sequence of others.
// A mark in the text of an agent could at most choose one of these colours.

const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const satisfies Record<string, readonly [number, number]>;

export type Style = keyof typeof STYLES;

const NAMES = Object.keys(STYLES) as Style[];
const FIRST_MARK = 0xfdd0;
const MARKS = /[\ufdd0-\ufdef]/g;

export function paint(style: Style, text: string): string {
  if (text === '') return '';
  const at = FIRST_MARK + 2 * NAMES.indexOf(style);
  return String.fromCharCode(at) + text + String.fromCharCode(at + 1);
}

export function withoutPaint(text: string): string {
  return text.replace(MARKS, '');
}

/** What a terminal may be given: no escape sequence but those of `paint`. */
export function render(text: string, colour: boolean): string {
  return toPlainText(text).replace(MARKS, (mark) => (colour ? toSequence(mark) : ''));
}

function toSequence(mark: string): string {
  const index = mark.charCodeAt(0) - FIRST_MARK;
  const style = NAMES[index >> 1];
  return style === undefined ? '' : `\x1b[${STYLES[style][index & 1 ? 1 : 0]}m`;
}

type Env = Readonly<Record<string, string | undefined>>;

/** NO_COLOR and FORCE_COLOR decide; without them a terminal has colours. */
export function wantsColour(env: Env, isTerminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return isTerminal && env.TERM !== 'dumb';
}

const HEALTH_STYLES: Readonly<Record<string, Style>> = {
  online: 'green',
  ok: 'green',
  offline: 'red',
  down: 'red',
  failed: 'red',
};

export function paintHealth(status: string): string {
  return paint(HEALTH_STYLES[status] ?? 'yellow', status);
}

export const GAP = 2;
/** A column is not made narrower than this to fit the terminal. */
const NARROWEST = 8;

/**
 * Cells may be text of others: each is cleaned by itself, so that none reaches into another one.
 * Columns as wide as their widest cell; the last one is not padded. With `columns`, the widest are
 * narrowed until a row fits the terminal; the first one, which names the row, last of all.
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns?: number,
): string {
  const oneLine = [head, ...rows].map((cells) => cells.map((cell) => toOneLine(cell)));
  const natural = head.map((_, column) =>
    Math.max(...oneLine.map((cells) => widthOf(cells[column] ?? ''))),
  );
  const widths = columns === undefined ? natural : narrowColumns(natural, columns);
  return oneLine.map((cells) => row(cells, widths)).join('\n');
}

/** Takes from the widest column, column by column, until the sum fits or all are narrow. */
function narrowColumns(natural: readonly number[], columns: number): number[] {
  const widths = [...natural];
  const room = columns - GAP * (widths.length - 1);
  for (let over = sum(widths) - room; over > 0; over -= 1) {
    const [first = 0, ...others] = widths;
    const width = Math.max(...others);
    if (width > NARROWEST) widths[widths.indexOf(width, 1)] = width - 1;
    else if (first > NARROWEST) widths[0] = first - 1;
    else break;
  }
  return widths;
}

export function row(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, column) => {
    const width = widths[column] ?? 0;
    const shown = fit(cell, width);
    return shown + ' '.repeat(Math.max(0, width - widthOf(shown)));
  });
  return padded.join(' '.repeat(GAP)).trimEnd();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Two columns wide: East Asian scripts and most pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;

export function widthOf(text: string): number {
  let width = 0;
  for (const character of withoutPaint(text)) width += widthOfOne(character);
  return width;
}

/** Cut to `columns`, with "…" where something is missing; its paint ends with it. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let width = 0;
  let kept = '';
  for (const character of text) {
    const isPaint = withoutPaint(character) === '';
    width += isPaint ? 0 : widthOfOne(character);
    if (isPaint || width <= columns - 1) kept += character;
  }
  return `${kept}…`;
}

function widthOfOne(character: string): number {
  if (NO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Where two texts differ that begin and end alike: their lines from `head` to `tail` before the end. */
export function diffLines(before: readonly string[], after: readonly string[]) {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const gone = before.slice(head, before.length - tail);
  const fresh = after.slice(head, after.length - tail);
  const changes = [...gone.map((text) => `- ${text}`), ...fresh.map((text) => `+ ${text}`)];
  return { head, tail, changes };
}

export function paintChange(text: string): string {
  const [sign] = text.trimStart();
  if (sign === '+') return paint('green', text);
  return sign === '-' ? paint('red', text) : text;
}
