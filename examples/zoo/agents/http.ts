// A web service: takes the envelope by POST, answers with server-sent events.

import { json } from 'node:stream/consumers';
import type { Envelope } from '@starloom/core';
import { CARD, draw, greetingOf, say } from '../greeting.ts';
import { beginStream, sendEvent, serve } from '../serve.ts';

await serve(() => async (request, response) => {
  if (request.method !== 'POST') return void response.end();
  const { input } = (await json(request)) as Envelope;
  const greeting = greetingOf(input.task, 'HTTP');
  const send = (type: string, data: object) => sendEvent(response, { type, data }, type);
  beginStream(response);
  for await (const text of say(greeting)) send('token', { text });
  const { name, mediaType: media_type } = CARD;
  send('artifact', { id: 'card', name, media_type, text: draw(greeting), last: true });
  send('final', { answer: greeting });
  response.end();
});
