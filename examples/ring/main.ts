// Three agents, each in a process of its own, pass every question on: ada asks ben, ben asks cleo,
// cleo asks ada. No gateway watches over them: the guard in each of them ends it.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTrace, type Hop, type Trace, toMeta } from '@starloom/core';
import { freePort, temporaryFolder } from '@starloom/testkit';
import { startRingAgent } from './ring-agent.ts';

await using folder = await temporaryFolder();
const [first, second, third] = [await freePort(), await freePort(), await freePort()];
await using agents = new AsyncDisposableStack();
const started = await Promise.all([
  startRingAgent({ name: 'ada', port: first, next: urlOf(second) }, folder.path),
  startRingAgent({ name: 'ben', port: second, next: urlOf(third) }, folder.path),
  startRingAgent({ name: 'cleo', port: third, next: urlOf(first) }, folder.path),
]);
for (const agent of started) agents.use(agent);

const trace = createTrace();
console.log('a client asks ada; ada asks ben, ben asks cleo, cleo asks ada');
const { text } = await ask(trace);
console.log(`  ${text}`);
assert.match(
  text,
  /^ada heard: ben heard: cleo heard: .*ada\/ask → ben\/ask → cleo\/ask → ada\/ask/,
);

console.log('asked again on the same trace, ada refuses');
const again = await ask(trace);
console.log(`  ${again.error?.code}: ${again.error?.details.reason}`);
assert.equal(again.error?.code, 'RECURSION_LIMIT');
assert.equal(again.error?.details.reason, 'tripped');

console.log(
  'a caller that is three calls deep already: ada is the 4th, ben the 5th, cleo too much',
);
const above = ['planner/plan', 'desk/sort', 'clerk/find'];
const deep = await ask(createTrace(), { depth: 4, chain: above });
console.log(`  ${deep.text}`);
assert.match(deep.text, /^ada heard: ben heard: Call depth 6 is beyond the limit of 5/);

console.log('and one that is five calls deep is not served at all');
const chain = [...above, 'scribe/write', 'editor/read'];
const deepest = await ask(createTrace(), { depth: 6, chain });
console.log(`  ${deepest.error?.code}: ${deepest.error?.details.chain?.join(' → ')} → ada/ask`);
assert.equal(deepest.error?.code, 'RECURSION_LIMIT');
assert.deepEqual(deepest.error?.details, { reason: 'depth', depth: 6, limit: 5, chain });

assert.match((await ask(createTrace())).text, /^ada heard: ben heard: cleo heard: /);
console.log('all of it worked; the agents go on, and take other questions');

interface Answer {
  readonly text: string;
  readonly error?: {
    readonly code: string;
    readonly details: { readonly reason?: string; readonly chain?: readonly string[] };
  };
}

/** Asks ada, from where `hop` says; without it, as the first of a chain. */
async function ask(trace: Trace, hop: Hop = { depth: 1, chain: [] }): Promise<Answer> {
  const client = new Client({ name: 'ring', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(urlOf(first))));
  const { isError, content } = await client.callTool({
    name: 'ask',
    arguments: { prompt: 'Who knows?' },
    _meta: toMeta(trace, hop),
  });
  await client.close();
  const [block] = content;
  const text = block?.type === 'text' ? block.text : '';
  return isError ? { text, error: JSON.parse(text).error } : { text };
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}/mcp`;
}
