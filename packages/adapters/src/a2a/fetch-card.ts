// Finds the card of an agent. `endpoint.uri` may be the card itself or the address of the agent.

import { FabricError, type Manifest, TOOL_ERROR, toFields } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { JWK } from 'jose';
import { parseJson } from '../http/translate.ts';
import { type CardView, parseAgentCard } from './agent-card.ts';
import { verifiedCard } from './card-signature.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { A2aOptions } from './options.ts';

export interface CardSource {
  readonly uri: URL;
  readonly manifest: Manifest;
  readonly options: A2aOptions;
  readonly fetch: GuardedFetch;
}

const WELL_KNOWN = '.well-known/agent-card.json';

/** Throws as `Adapter.describe`; nothing of a call was sent in any case. */
export async function fetchCard(source: CardSource, parent: AbortSignal): Promise<CardView> {
  const { uri, options } = source;
  using deadline = deadlineSignal({ ms: options.card_timeout_ms, parent });
  let missing: FabricError | undefined;
  for (const url of cardUrls(uri)) {
    try {
      return await read(url, source, deadline.signal);
    } catch (error) {
      const failure = FabricError.from(error).with({ sent: false });
      if (!isMissing(failure)) throw failure;
      missing ??= failure;
    }
  }
  throw noCard(uri, missing);
}

/** There is something else at this address, or nothing. */
function isMissing({ details }: FabricError): boolean {
  const reasons: readonly unknown[] = ['not_found', 'invalid_json', TOOL_ERROR];
  return reasons.includes(details.reason);
}

async function read(url: URL, { fetch, options }: CardSource, signal: AbortSignal) {
  const headers = { accept: 'application/json', 'A2A-Version': '1.0' };
  const response = await fetch(url, { headers, signal });
  const card = parseJson(await response.text());
  const keys = options.card_keys as readonly JWK[] | undefined;
  return parseAgentCard(keys ? await verifiedCard(toFields(card), keys) : card);
}

/** Where the card may be, in the order in which it is looked for. */
export function cardUrls(uri: URL): readonly URL[] {
  if (uri.pathname.endsWith('.json') || uri.pathname.includes('/.well-known/')) return [uri];
  const base = new URL(uri);
  base.pathname = `${uri.pathname.replace(/\/+$/, '')}/${WELL_KNOWN}`;
  const root = new URL(`/${WELL_KNOWN}`, uri);
  return base.pathname === root.pathname ? [base] : [base, root, uri];
}

function noCard(uri: URL, cause: FabricError | undefined): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'The agent has no agent card at this address', {
    details: {
      reason: 'no_card',
      sent: false,
      looked_at: cardUrls(uri).map((url) => url.pathname),
      fix: 'set endpoint.uri to the base address of the agent or to its card',
    },
    cause,
  });
}
