import type { Citation, EventBody } from '@starloom/core';

export function progress(percent: number, message: string): EventBody {
  return { type: 'progress', data: { percent, message } };
}

/** The text word by word, each with the white space after it. */
export function* speak(text: string): Generator<EventBody> {
  for (const [word] of text.matchAll(/^\s+|\S+\s*/g)) yield { type: 'token', data: { text: word } };
}

export function final(answer: string, data: object, citations?: Citation[]): EventBody {
  return { type: 'final', data: { answer, data, ...(citations && { citations }) } };
}
