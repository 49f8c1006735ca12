// What an agent said, as a terminal may show it. Words of models and tools are not ours: control
// characters could move the cursor, forge a prompt or rename the window, and are left out.

import type { ContentSegment } from '@starloom/sdk';

/** Everything but line breaks and tabs that a terminal would act on, and what turns text around. */
const ACTS_ON_TERMINAL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be shown
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

export function toPlainText(text: string): string {
  return text.replace(ACTS_ON_TERMINAL, '');
}

/** One line, no longer than a glance. */
export function toOneLine(text: string, width: number): string {
  const line = toPlainText(text).replace(/\s+/g, ' ').trim();
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

/** A segment in words; `undefined` for what is not for the reader. */
export function describeSegment(segment: ContentSegment): string | undefined {
  const { type, text = '', data = '', mimeType = type, ui } = segment;
  switch (type) {
    case 'text':
      return toPlainText(text);
    case 'image':
    case 'audio':
    case 'video':
      return toPlainText(`[${mimeType}: ${/^https?:/.test(data) ? data : sizeOf(data)}]`);
    case 'ui':
      return toPlainText(JSON.stringify(ui, null, 2) ?? '');
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return undefined;
  }
}

export function describeSegments(segments: readonly ContentSegment[]): string {
  return segments.flatMap((segment) => describeSegment(segment) ?? []).join('\n');
}

function sizeOf(data: string): string {
  const base64 = data.slice(data.indexOf(',') + 1);
  return `${Math.floor((base64.length * 3) / 4)} bytes`;
}
