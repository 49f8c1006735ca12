// A lock holder in a process of its own, so that it can be stopped in the middle: takes lines of
// JSON, `{address, method, params}`, and answers each with what the plane said.

import { readNdjson } from '@starloom/wire';
import type { Fields, Link } from './link.ts';
import { openWebSocketLink, type WebSocketAddress } from './websocket-link.ts';

interface Command {
  readonly address: WebSocketAddress;
  readonly method: string;
  readonly params: Fields;
}

let link: Link | undefined;
for await (const line of readNdjson(process.stdin, { maxLineBytes: 1 << 20 })) {
  const { address, method, params } = line as Command;
  const answer = await ask(address, method, params).catch(() => ({
    kind: 'unknown' as const,
    why: 'no connection',
  }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
link?.close();

async function ask(address: WebSocketAddress, method: string, params: Fields) {
  if (!link?.isOpen) link = await openWebSocketLink(address)(() => {});
  return await link.request(method, params);
}
