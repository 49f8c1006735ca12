// A hostile MCP agent over stdio: its tools have other schemas in every list, and it announces a change
// a hundred times a second.

import { giveWay } from './machine-load.ts';

// As all hostile agents: what it sends is the attack, not the core that it takes. Before all else, since
// the start of a process takes most of it.
giveWay();
const { readNdjson } = await import('@starloom/wire');
const { answerMcp } = await import('./hostile-mcp.ts');

const EVERY_MS = 10;

const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
setInterval(() => write(changed), EVERY_MS).unref();
for await (const line of readNdjson(process.stdin, { maxLineBytes: 1 << 24 })) {
  const answer = answerMcp('changing', line as Parameters<typeof answerMcp>[1]);
  if (answer) write(answer);
}

function write(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
