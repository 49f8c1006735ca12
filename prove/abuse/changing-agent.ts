// A hostile MCP agent over stdio: its tools have other schemas in every list, and it announces a change
// a hundred times a second.

import { readNdjson } from '@starloom/wire';
import { answerMcp, type McpRequest } from './hostile-mcp.ts';

const EVERY_MS = 10;

const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
setInterval(() => write(changed), EVERY_MS).unref();
for await (const line of readNdjson(process.stdin, { maxLineBytes: 1 << 24 })) {
  const answer = answerMcp('changing', line as McpRequest);
  if (answer) write(answer);
}

function write(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
