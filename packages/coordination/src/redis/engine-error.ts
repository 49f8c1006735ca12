// What goes wrong with Redis, as the one error of the port: the engine cannot, and what to do.

import { FabricError } from '@starloom/core';

/** States in which Redis answers, but does nothing. */
const UNABLE =
  /^(LOADING|OOM|MISCONF|BUSY|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|UNBLOCKED|ERR max number of clients)\b/;
/** States that do not pass by themselves: an operator has to set something up. */
const MUST_BE_SET_UP = [
  {
    pattern: /^(NOAUTH|WRONGPASS)\b|^ERR (AUTH|invalid password)/,
    fix: 'give the user and the password of Redis in coordination.url, as env:NAME or file:PATH of redis://user:password@host:port',
  },
  {
    pattern: /^NOPERM\b|The user executing the script can't/,
    fix: 'allow the user of coordination.url all keys starloom:coordination:* and the commands on them: ACL SETUSER <user> ~starloom:coordination:* +@all -@admin',
  },
  {
    pattern: /^READONLY\b/,
    fix: 'name the primary in coordination.url: this Redis is a replica',
  },
] as const;
const FIXES = [
  { pattern: /^OOM\b/, fix: 'give Redis more memory (maxmemory), or end sessions' },
  { pattern: /^MISCONF\b/, fix: 'let Redis save again: its log says why it cannot' },
  { pattern: /^NOREPLICAS\b/, fix: 'bring back the replicas that min-replicas-to-write asks for' },
  {
    pattern: /^ERR max number of clients\b/,
    fix: 'let Redis serve two connections per gateway (maxclients)',
  },
  ...MUST_BE_SET_UP,
];

export function unavailable(problem: string, cause?: unknown): FabricError {
  const fix = FIXES.find(({ pattern }) => pattern.test(problem))?.fix ?? 'try again';
  return new FabricError('OVERLOADED', 'The coordination engine cannot do its work', {
    details: { reason: 'engine_unavailable', engine: 'redis', problem, fix },
    cause,
  });
}

/** An unknown script is for the caller to send again; any other refusal is a mistake of ours. */
export function toEngineError(error: Error): Error {
  const { message } = error;
  if (UNABLE.test(message) || mustBeSetUp(message)) return unavailable(message, error);
  if (message.startsWith('NOSCRIPT')) return error;
  const isReply = /^[A-Z]+ /.test(message);
  return isReply ? FabricError.from(error) : unavailable(message, error);
}

export function mustBeSetUp(problem: string): boolean {
  return MUST_BE_SET_UP.some(({ pattern }) => pattern.test(problem));
}

/** What was a primary is a replica now: its name may lead to another one. */
export function isReplica({ message }: Error): boolean {
  return message.startsWith('READONLY');
}
