// A first look through the eyes of an MCP client: start the gateway with its sample agents, call each
// of them, watch an answer stream in, break one and see another answer. Checks itself.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startGateway } from '../start-gateway.ts';

const TEXT = 'Why do agents need a fabric? They talk past each other. It gives them one path.';

await using gateway = await startGateway(import.meta.dirname);
const client = new Client({ name: 'first-call', version: '1.0.0' });
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp?tool_names=dots`), {
    requestInit: { headers: { authorization: `Bearer ${gateway.key}` } },
  }),
);

const { tools } = await client.listTools();
console.log(`tools: ${tools.map(({ name }) => name).join(', ')}`);
for (const name of ['fabric.call', 'percy.reason', 'coder.code', 'librarian.lookup']) {
  assert(
    tools.some((tool) => tool.name === name),
    `${name} is listed`,
  );
}

const coder = await call('coder', 'code', { arguments: { path: 'main.ts' } });
console.log(`coder: ${firstLine(coder.result.answer)}`);
assert.match(coder.result.answer, /lines of TypeScript/);

const librarian = await call('librarian', 'lookup', { task: 'which agent fails on purpose' });
console.log(
  `librarian: ${librarian.result.citations.map(({ uri }: { uri: string }) => uri).join(', ')}`,
);
assert(librarian.result.citations.length > 0, 'the librarian cites');

const words: string[] = [];
const percy = await call('percy', 'reason', { task: TEXT, stream: true }, (message) =>
  words.push(message),
);
console.log(`percy streamed ${words.length} events: ${firstLine(percy.result.answer)}`);
assert.equal(percy.agent_id, 'percy');
assert(words.length > 10, 'percy streams');

const broken = await call('flaky', 'reason', { task: TEXT, stream: true });
console.log(`flaky fell back: ${broken.attempts.map(describe).join(' → ')}`);
assert.equal(broken.fallback, true);
assert.equal(broken.attempts[0].ok, false);
assert.notEqual(broken.agent_id, 'flaky');

await client.close();
console.log('all of it worked');

// biome-ignore lint/suspicious/noExplicitAny: the payload is read, not computed with
type Payload = any;

async function call(
  agent_id: string,
  capability: string,
  more: object,
  onMessage?: (message: string) => void,
): Promise<Payload> {
  const answer = await client.callTool(
    { name: 'fabric.call', arguments: { agent_id, capability, ...more } },
    onMessage ? { onprogress: ({ message = '' }) => onMessage(message) } : {},
  );
  const payload = answer.structuredContent as Payload;
  assert.equal(payload.ok, true, JSON.stringify(payload.error));
  return payload;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

function describe({ agent_id, code }: { agent_id: string; code?: string }): string {
  return `${agent_id} ${code ?? 'answered'}`;
}
