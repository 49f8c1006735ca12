// Cards as they are served: signed, with their tags, and for clients of both versions.

import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AgentCard, generateAgentCardSignature } from '@a2a-js/sdk';
import { LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { type A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { canonicalJson } from '@starloom/core';
import { LEGACY } from '../names.ts';
import { signingAlgorithm } from '../signing-key.ts';
import { type A2aExchange, a2aError, respond } from './respond.ts';

const MAX_CARDS = 1_000;
const BEARER = 'bearer';

/** A key in `Authorization`: the fields of a card that say so. */
export const BEARER_SECURITY = {
  securitySchemes: {
    [BEARER]: {
      scheme: {
        $case: 'httpAuthSecurityScheme',
        value: { scheme: 'Bearer', bearerFormat: '', description: 'A key of the gateway' },
      },
    },
  },
  securityRequirements: [{ schemes: { [BEARER]: { list: [] } } }],
} satisfies Pick<AgentCard, 'securitySchemes' | 'securityRequirements'>;

export class CardServer {
  /** When a card was first served as it is, by its tag. */
  readonly #firstServed = new Map<string, string>();

  async serve(
    { request, response }: Pick<A2aExchange, 'request' | 'response'>,
    card: AgentCard,
    isLegacy: boolean,
  ): Promise<void> {
    const body = isLegacy ? await toHybrid(card) : toJson(card);
    // Signatures of the same card may differ.
    const { signatures: _, ...content } = body;
    const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
    const etag = `"${hash.slice(0, 32)}"`;
    const headers = {
      etag,
      'last-modified': this.#lastModified(etag),
      'cache-control': 'private, max-age=60',
      vary: 'Authorization, A2A-Version',
    };
    const isKnown = request.headers['if-none-match'] === etag;
    if (isKnown) return void response.writeHead(304, headers).end();
    respond(response, { status: 200, contentType: 'application/json', body, headers });
  }

  #lastModified(etag: string): string {
    const before = this.#firstServed.get(etag);
    if (before !== undefined) return before;
    const [oldest] = this.#firstServed.keys();
    if (oldest !== undefined && this.#firstServed.size >= MAX_CARDS) {
      this.#firstServed.delete(oldest);
    }
    const now = new Date().toUTCString();
    this.#firstServed.set(etag, now);
    return now;
  }
}

/** Empty lists are written too: not every client takes a card without them. */
function toJson(card: AgentCard): Record<string, unknown> {
  const { securityRequirements } = card;
  const json = AgentCard.toJSON(card) as Record<string, unknown>;
  return { skills: [], ...json, securityRequirements };
}

/**
 * One document for clients of both versions: the fields of 0.3, the interfaces and capabilities of 1.0, and each
 * security scheme in both shapes. `securityRequirements` is left out: clients that know 0.3 read `security`, and the
 * Go SDK (2.3.1) refuses the shape that 1.0 gives it. A signature is for the plain form.
 */
async function toHybrid(card: AgentCard): Promise<Record<string, unknown>> {
  const { supportedInterfaces, securitySchemes, capabilities } = toJson(card);
  const legacy = await toLegacyCard({ ...card, signatures: [] });
  const schemes = Object.entries((securitySchemes ?? {}) as Record<string, object>).map(
    ([name, scheme]) => [name, { ...legacy.securitySchemes?.[name], ...scheme }],
  );
  return {
    ...legacy,
    capabilities: { ...legacy.capabilities, ...Object(capabilities) },
    securitySchemes: Object.fromEntries(schemes),
    supportedInterfaces,
  };
}

/** The SDK has its translation of cards only behind the operation that reads one. */
async function toLegacyCard(card: AgentCard) {
  const reader = {
    getAuthenticatedExtendedAgentCard: async () => card,
    getAgentCard: async () => card,
  };
  const handler = new LegacyRestTransportHandler(reader as unknown as A2ARequestHandler);
  return await handler.getAuthenticatedExtendedAgentCard(new ServerCallContext());
}

// Signatures of cards: JWS over the canonical JSON of the card without its signatures.

export type CardSigner = (card: AgentCard) => Promise<AgentCard>;

/** `pem` is a private key, Ed25519 or P-256. */
export function createCardSigner(pem: string): CardSigner {
  const key = createPrivateKey(pem);
  const sign = generateAgentCardSignature(key, {
    alg: signingAlgorithm(key) ?? '',
    kid: thumbprintOf(key),
    typ: 'JOSE',
  });
  return async (card) => {
    // The SDK reads what it signs as JSON: given its own objects, it would leave out half of them.
    const { signatures } = await sign(AgentCard.toJSON(card) as AgentCard);
    return { ...card, signatures };
  };
}

/** Names a key by itself (RFC 7638). */
function thumbprintOf(key: KeyObject): string {
  const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' });
  const needed = y === undefined ? { crv, kty, x } : { crv, kty, x, y };
  return createHash('sha256').update(canonicalJson(needed)).digest('base64url');
}

/** What the client asks for, by header or parameter; a client that names none speaks 0.3. */
export function requestedVersion({ headers }: IncomingMessage, { searchParams }: URL): string {
  const header = headers['a2a-version'];
  const named = Array.isArray(header) ? header[0] : header;
  const asked = (named || searchParams.get('A2A-Version') || LEGACY).trim();
  return PATCHED.exec(asked)?.[1] ?? asked;
}

/** Patches of a version are negotiated as the version. */
const PATCHED = /^(\d{1,3}\.\d{1,3})\.\d{1,3}$/;

/** VERSION_NOT_SUPPORTED for one that is not served. */
export function assertVersion(version: string, served: readonly string[]): void {
  if (served.includes(version)) return;
  const message = `A2A ${version.slice(0, 32)} is not served; supported: ${served.join(', ')}`;
  throw a2aError('VERSION_NOT_SUPPORTED', message, {
    supported: served,
    fix: `send the header A2A-Version: ${served[0]}`,
  });
}
