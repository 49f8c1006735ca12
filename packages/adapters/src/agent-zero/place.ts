// Where an Agent Zero is, and the secrets it wants. The token stands in a header of the manifest,
// where secrets are references and errors of the agent are cleaned of them. It never stands in the
// address: every caller that may list agents sees that.

import { FabricError, isLoopback, type Manifest } from '@starloom/core';
import { parseTarget, type Target } from '../http/target.ts';
import type { AgentZeroOptions } from './options.ts';

export interface Place {
  readonly target: Target;
  readonly token: string | undefined;
}

const TOKEN_HEADER = 'x-api-key';

export function parsePlace(manifest: Manifest, options: AgentZeroOptions): Place {
  const target = parseTarget(manifest, options);
  if (/\/t-[^/]+/.test(target.path)) {
    const fix = 'set endpoint.uri to the address without "/t-…", and the header X-API-KEY';
    throw badPlace(manifest, 'token_in_uri', fix);
  }
  return { target, token: target.headers[TOKEN_HEADER] };
}

/** A request that is read or changed on its way lets others run anything at the agent. */
export function assertPrivate(manifest: Manifest, { origin }: Target): void {
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))) return;
  const fix = 'use https, or an address of this machine';
  throw badPlace(manifest, 'rfc_not_private', fix);
}

export function badPlace({ agent_id }: Manifest, reason: string, fix: string): FabricError {
  return new FabricError('BAD_INPUT', `Agent "${agent_id}" cannot be reached as it is set up`, {
    details: { agent_id, reason, fix },
  });
}
