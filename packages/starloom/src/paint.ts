// Colours of our own. `paint` marks text with noncharacters of Unicode, and the terminal turns the
// marks into escape sequences, or drops them, after it has removed every escape sequence of others.
// A mark in the text of an agent could at most choose one of these colours.

import { toPlainText } from './plain-text.ts';

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

/** The state of an agent or a part: green, red, or yellow for what is between. */
export function paintHealth(status: string): string {
  return paint(HEALTH_STYLES[status] ?? 'yellow', status);
}
