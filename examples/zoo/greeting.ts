// What every agent of the zoo does: it greets word by word, and draws a card. Only the protocols differ.

import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = 40;

export const CARD = { name: 'card.svg', mediaType: 'image/svg+xml' } as const;

/** The protocol stands in the answer, so that an agent cannot be taken for another one. */
export function greetingOf(name: string, protocol: string): string {
  return `Hello, ${name}! I speak ${protocol}.`;
}

/** The greeting as it is said: a word, a pause, the next word. */
export async function* say(greeting: string): AsyncGenerator<string, void, undefined> {
  for (const word of greeting.split(/(?<=\s)/)) {
    yield word;
    await delay(PAUSE_MS);
  }
}

export function draw(greeting: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg"><text y="20">${greeting}</text></svg>`;
}
