// Finds the card of an agent. Its `uri` may be the card itself or the address of the agent.

import { AgentCard, canonicalizeAgentCard } from '@a2a-js/sdk';
import { FabricError, TOOL_ERROR, toFields, tryParseJson } from '@starloom/core';
import { deadlineSignal, parseUpstreamJson } from '@starloom/wire';
import { type FlattenedJWS, flattenedVerify, type JWK } from 'jose';
import { z } from 'zod';
import { CARD_PATH } from '../names.ts';
import { failure } from '../reasons.ts';
import { type CardView, parseAgentCard } from './agent-card.ts';
import type { AgentFetch } from './agent-fetch.ts';
import type { A2aOptions } from './options.ts';

interface CardSource {
  readonly uri: URL;
  readonly options: A2aOptions;
  readonly fetch: AgentFetch;
}

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
  const card = parseUpstreamJson(await response.text());
  const keys = options.card_keys as readonly JWK[] | undefined;
  return parseAgentCard(keys ? await verifiedCard(toFields(card), keys) : card);
}

/** Where the card may be, in the order in which it is looked for. */
function cardUrls(uri: URL): readonly URL[] {
  if (uri.pathname.endsWith('.json') || uri.pathname.includes('/.well-known/')) return [uri];
  const base = new URL(uri);
  base.pathname = `${uri.pathname.replace(/\/+$/, '')}${CARD_PATH}`;
  const root = new URL(CARD_PATH, uri);
  return base.pathname === root.pathname ? [base] : [base, root, uri];
}

function noCard(uri: URL, cause: FabricError | undefined): FabricError {
  return failure('no_card', { looked_at: cardUrls(uri).map((url) => url.pathname) }, { cause });
}

const MAX_SIGNATURES = 16;

const signatures = z
  .array(z.object({ protected: z.string(), signature: z.string() }))
  .max(MAX_SIGNATURES);

const headerSchema = z.object({ alg: z.string(), kid: z.string(), typ: z.string() });

/** Asymmetric ones alone: with HMAC a public key would be the secret. */
const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'PS384', 'RS256'];

/**
 * The card as far as its signature covers it: what the 1.0 schema does not know is left out.
 * AUTH_DENIED when no signature is of a pinned key. Works on the JSON as it was fetched: the SDK's
 * canonical form of a card object in memory loses security schemes. The SDK's own verifier is not
 * used, since it writes to standard output.
 */
async function verifiedCard(
  card: Readonly<Record<string, unknown>>,
  keys: readonly JWK[],
): Promise<unknown> {
  const parsed = signatures.safeParse(card.signatures);
  const payload = canonicalOf(card);
  for (const entry of parsed.data ?? []) {
    if (await isValid({ ...entry, payload }, keys)) {
      return AgentCard.toJSON(AgentCard.fromJSON(card));
    }
  }
  throw failure('card_signature', { upstream: { signatures: parsed.data?.length ?? 0 } });
}

async function isValid(jws: FlattenedJWS & { protected: string }, keys: readonly JWK[]) {
  const header = headerOf(jws.protected);
  if (!header) return false;
  const fitting = keys.filter(({ kid }) => kid === undefined || kid === header.kid);
  for (const key of fitting) {
    const verified = flattenedVerify(jws, { alg: header.alg, ...key }, { algorithms: ALGORITHMS });
    if (await verified.catch(() => undefined)) return true;
  }
  return false;
}

function headerOf(text: string): z.infer<typeof headerSchema> | undefined {
  const header = tryParseJson(Buffer.from(text, 'base64url').toString('utf8'));
  return headerSchema.safeParse(header).data;
}

function canonicalOf(card: object): string {
  try {
    const canonical = canonicalizeAgentCard(card as AgentCard);
    return Buffer.from(canonical, 'utf8').toString('base64url');
  } catch (cause) {
    throw failure('bad_card', { sent: false }, { cause });
  }
}
