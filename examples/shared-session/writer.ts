// One of the writers. It goes through all parts of the report, beginning with its own, and writes
// what is missing of each. Nothing here is about agents that die: to wait for the lock of a part, and
// to read what stands there, is all it takes to go on where another one stopped.
// Arguments: its name, the session, its own part, and the line of it at which it hangs, if it does.

import { openCoordinationClient, rpcCodeOf, webSocketConnect } from '@starloom/coordination-client';
import { PARTS, REPORT } from './report.ts';

/** What a writer tells of itself, a line at a time. */
export interface Said {
  readonly has?: string;
  readonly lock_token?: number;
  readonly epoch?: number;
  readonly lost?: string;
  readonly done?: true;
}

const [, , name = '', session_id = '', own = '', hangsAt = ''] = process.argv;
const { GATEWAY_URL: url = '', GATEWAY_KEY: key } = process.env;

/** A lock that is not renewed for so long is free again. */
const ttl_ms = 2_000;
const STALE = -32015;

const client = await openCoordinationClient({
  agentId: name,
  connect: webSocketConnect({ url: `${url.replace(/^http/, 'ws')}/rpc/ws`, key }),
});
client.on('agent_disconnected', ({ agent_id }) => tell({ lost: agent_id }));
await client.sessions.join({ session_id });
const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
await client.subscribe({ session_id, after: 0, keys: ['outline'] }, { update: () => begin() });

for (const part of startingWith(own)) {
  while (!(await finish(part))) {}
}
tell({ done: true });

/** False when a lock was lost, as happens to an agent that is too slow. */
async function finish(part: string): Promise<boolean> {
  try {
    await client.withLock({ session_id, resource: `part:${part}`, ttl_ms }, () => write(part));
    return true;
  } catch (error) {
    if (rpcCodeOf(error) !== STALE) throw error;
    return false;
  }
}

async function write(part: string): Promise<void> {
  tell({ has: part });
  await begun;
  const { context } = await client.context.get({ session_id, keys: [part] });
  const written = Array.isArray(context[part]) ? context[part].length : 0;
  for (const [index, line] of (REPORT[part] ?? []).entries()) {
    if (index < written) continue;
    await client.withLock({ session_id, ttl_ms }, async ({ lock_token }) => {
      if (hangsAt === String(index + 1)) await hang(lock_token);
      await client.context.update({
        session_id,
        lock_token,
        op: 'append',
        update: { [part]: [line] },
      });
    });
  }
}

/** With the lock in its hand and its heart still beating. */
function hang(lock_token: number): Promise<never> {
  tell({ lock_token, epoch: client.epoch });
  return new Promise(() => {});
}

function startingWith(part: string): string[] {
  const first = PARTS.indexOf(part);
  return [...PARTS.slice(first), ...PARTS.slice(0, first)];
}

function tell(said: Said): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
