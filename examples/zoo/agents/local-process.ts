// A program that reads an envelope and writes events, one JSON object per line. One process per call.

import { createInterface } from 'node:readline';
import { CARD, draw, greetingOf, say } from '../greeting.ts';

for await (const line of createInterface({ input: process.stdin })) {
  const { envelope } = JSON.parse(line);
  if (!envelope) continue;
  const greeting = greetingOf(envelope.input.task, 'lines of JSON');
  for await (const text of say(greeting)) write('token', { text });
  const { name, mediaType: media_type } = CARD;
  write('artifact', { id: 'card', name, media_type, text: draw(greeting), last: true });
  write('final', { answer: greeting });
}

function write(type: string, data: object): void {
  console.log(JSON.stringify({ type, data }));
}
