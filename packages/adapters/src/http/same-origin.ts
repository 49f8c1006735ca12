import { FabricError } from '@starloom/core';
import type { Target } from './target.ts';

/** The path of an address that an agent gave us; it must lead to the agent itself. */
export function sameOriginPath(address: unknown, from: string, { origin }: Target): string {
  const url = typeof address === 'string' ? URL.parse(address, origin + from) : null;
  if (url && url.origin === origin && url.username === '' && url.password === '') {
    return url.pathname + url.search;
  }
  throw new FabricError('UPSTREAM_ERROR', 'The agent gave an address that is not its own', {
    details: {
      reason: url === null ? 'bad_result' : 'other_origin',
      ...(url && { origin: url.origin.slice(0, 256) }),
      fix: 'use an agent that answers at its own address',
    },
  });
}
