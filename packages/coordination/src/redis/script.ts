import { createHash } from 'node:crypto';
import type { RedisConnection } from './connection.ts';
import { ACQUIRE_AND_COMMIT, COMMIT } from './lua/commit.ts';
import { ACQUIRE, BREAK_LEASE, CANCEL_WAIT, DROP, RELEASE, RENEW, TICK } from './lua/leases.ts';
import { EVENTS, LISTS, READ_ALL, READ_KEYS } from './lua/reads.ts';
import { RESUME } from './lua/resume.ts';

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

export type Scripts = ReturnType<typeof createScripts>;

/** `timeKey` names a string with the time to live by; without it, that is the server's. */
export function createScripts(timeKey?: string) {
  const now =
    timeKey === undefined
      ? 'tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)'
      : `tonumber(redis.call('GET', ${JSON.stringify(timeKey)}))`;
  const script = (template: string) => toScript(template.replace('NOW()', now));
  return {
    commit: script(COMMIT),
    acquireAndCommit: script(ACQUIRE_AND_COMMIT),
    acquire: script(ACQUIRE),
    renew: script(RENEW),
    release: script(RELEASE),
    breakLease: script(BREAK_LEASE),
    cancelWait: script(CANCEL_WAIT),
    drop: script(DROP),
    tick: script(TICK),
    readAll: script(READ_ALL),
    readKeys: script(READ_KEYS),
    events: script(EVENTS),
    lists: script(LISTS),
    resume: script(RESUME),
  };
}

/** By its hash; Redis gets the text only when it does not know it (any more). */
export async function runScript<Reply>(
  connection: RedisConnection,
  { source, sha1 }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<Reply> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await connection.send<Reply>(['EVALSHA', sha1, ...rest]);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return connection.send<Reply>(['EVAL', source, ...rest]);
  }
}

function toScript(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}
