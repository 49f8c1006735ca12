// One agent of each protocol, one gateway, one MCP client: the client calls the same capability on all
// of them, and gets the same events, artifacts and answers. Checks itself.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { temporaryFolder } from '@starloom/testkit';
import { startGateway } from '../start-gateway.ts';
import { CARD, draw, greetingOf } from './greeting.ts';
import { openZoo } from './open-zoo.ts';
import { printTable } from './print-table.ts';
import { type Visit, visit } from './visit.ts';

/** What each agent calls its protocol in its answer. */
const PROTOCOLS = {
  'mcp-http': 'MCP over HTTP',
  'mcp-stdio': 'MCP over stdio',
  a2a: 'A2A',
  'agent-communication-protocol': 'the Agent Communication Protocol',
  'agent-client-protocol': 'the Agent Client Protocol',
  'agent-zero': 'Agent Zero',
  'local-process': 'lines of JSON',
  http: 'HTTP',
};

await using folder = await temporaryFolder();
await using _zoo = await openZoo(folder.path);
await using gateway = await startGateway(folder.path);
const client = new Client({ name: 'zoo', version: '1.0.0' });
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${gateway.key}` } },
  }),
);

const rows: string[][] = [];
const missing: string[] = [];
for (const [agentId, protocol] of Object.entries(PROTOCOLS)) {
  const visited = await visit(client, agentId, 'Ada');
  rows.push([agentId, ...toCells(visited)]);
  for (const what of missingIn(visited, agentId, greetingOf('Ada', protocol))) {
    missing.push(`${agentId}: ${what}`);
  }
}
await client.close();

printTable(['protocol', 'first event', 'events', 'artifacts', 'answer'], rows);
assert(missing.length === 0, `missing:\n  ${missing.join('\n  ')}`);
console.log('all of them streamed and answered, and all that can hand over a file did');

function toCells({ firstMs, events, artifacts, answer }: Visit): string[] {
  return [
    firstMs === undefined ? 'none' : `${firstMs} ms`,
    String(events.length),
    artifacts.map(({ id, name = id }) => name).join(', ') || 'none',
    answer,
  ];
}

function* missingIn({ events, artifacts, answer }: Visit, agentId: string, greeting: string) {
  if (answer !== greeting) yield `the answer "${greeting}"; it is "${answer}"`;
  // Agent Zero tells what it does, not what it will say, and its interface carries no files.
  if (agentId === 'agent-zero') {
    const types = events.map(({ type }) => type).join(', ');
    if (types !== 'progress, tool_call, tool_call')
      yield `its log; what came: ${types || 'nothing'}`;
    return;
  }
  const words = events.flatMap(({ type, data }) => (type === 'token' ? data.text : []));
  if (words.length < 2 || words.join('') !== greeting) {
    yield `a stream of words; what came: ${JSON.stringify(words)}`;
  }
  const card = artifacts.find(({ name }) => name === CARD.name);
  if (card?.text !== draw(greeting) || card.media_type !== CARD.mediaType) {
    yield `the artifact ${CARD.name}; what came: ${JSON.stringify(card ?? 'nothing')}`;
  }
}
