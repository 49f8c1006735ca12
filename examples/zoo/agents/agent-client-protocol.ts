// An agent for editors: the Agent Client Protocol over standard input and output, by the official SDK.

import { randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import {
  agent,
  type ContentBlock,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk';
import { CARD, draw, greetingOf, say } from '../greeting.ts';

agent({ name: 'greeter' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'greeter', version: '1.0.0' },
    agentCapabilities: {},
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: randomUUID() }))
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    for await (const content of blocksFor(prompt)) {
      const update = { sessionUpdate: 'agent_message_chunk' as const, content };
      await client.notify(methods.client.session.update, { sessionId, update });
    }
    return { stopReason: 'end_turn' };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

async function* blocksFor([first]: ContentBlock[]): AsyncGenerator<ContentBlock, void, undefined> {
  const name = first?.type === 'text' ? first.text : '';
  const greeting = greetingOf(name, 'the Agent Client Protocol');
  for await (const text of say(greeting)) yield { type: 'text', text };
  const resource = {
    uri: `memory:///${CARD.name}`,
    mimeType: CARD.mediaType,
    text: draw(greeting),
  };
  yield { type: 'resource', resource };
}
