import { FabricError } from '@starloom/core';
import type { StoreWarning } from '../coordination-store.ts';
import type { RedisConnection } from './connection.ts';

/** What Redis says of itself that coordination depends on. */
export interface ServerInfo {
  readonly version: string;
  /** Which keys it drops when it is full, if it may drop any. */
  readonly eviction: string | undefined;
}

const OLDEST_REDIS = 7;

export async function readServerInfo(connection: RedisConnection): Promise<ServerInfo> {
  const info = await connection.send<string>(['INFO']);
  const field = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  const policy = field('maxmemory_policy');
  const isBounded = Number(field('maxmemory') ?? 0) > 0;
  const mayEvict = isBounded && policy !== undefined && policy !== 'noeviction';
  return { version: field('redis_version') ?? '0', eviction: mayEvict ? policy : undefined };
}

export function assertVersion({ version }: ServerInfo): void {
  if (Number.parseInt(version, 10) >= OLDEST_REDIS) return;
  throw new FabricError('BAD_INPUT', `Redis ${version} is too old for coordination`, {
    details: { reason: 'engine_too_old', version, fix: `use Redis ${OLDEST_REDIS} or newer` },
  });
}

export function warningsOf({ eviction }: ServerInfo): readonly StoreWarning[] {
  if (eviction === undefined) return [];
  return [
    {
      problem: `Redis drops sessions, locks and answers when it is full: its maxmemory-policy is ${eviction}`,
      fix: 'set maxmemory-policy noeviction in Redis',
    },
  ];
}
