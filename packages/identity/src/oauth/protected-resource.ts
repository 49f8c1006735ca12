// What OAuth clients learn from the gateway: its metadata (RFC 9728), and in a refusal where that is and
// which scopes are needed (RFC 6750).

import type { FabricError } from '@starloom/core';
import type { Principal } from '../principal.ts';
import { failure } from '../reasons.ts';
import type { OauthIssuer, OauthOptions } from './oauth-verifier.ts';

type MayUse = (caller: Principal) => boolean;

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const MCP = '/mcp';
const INSUFFICIENT_SCOPE = 'insufficient_scope';

/** The names of this gateway in `aud`: itself and its MCP endpoint. */
export function audiencesOf(resource: string): string[] {
  const base = baseOf(resource);
  return [base, `${base}/`, `${base}${MCP}`];
}

export class ProtectedResource {
  /** The host that clients ask for. */
  readonly host: string;
  readonly #base: URL;
  readonly #issuers: readonly OauthIssuer[];
  readonly #documents: ReadonlyMap<string, string>;

  constructor({ resource, issuers }: OauthOptions) {
    const base = baseOf(resource);
    this.#base = new URL(base);
    this.#issuers = issuers;
    this.host = this.#base.hostname;
    const prefix = this.#base.pathname.replace(/\/$/, '');
    const shared = {
      authorization_servers: issuers.map(({ issuer }) => issuer),
      scopes_supported: [...new Set(issuers.flatMap(({ scopes }) => Object.keys(scopes)))],
      bearer_methods_supported: ['header'],
      resource_name: 'Starloom',
    };
    const whole = JSON.stringify({ resource: base, ...shared });
    const mcp = JSON.stringify({ resource: `${base}${MCP}`, ...shared });
    this.#documents = new Map([
      [WELL_KNOWN, whole],
      [`${WELL_KNOWN}${MCP}`, mcp],
      [`${WELL_KNOWN}${prefix}`, whole],
      [`${WELL_KNOWN}${prefix}${MCP}`, mcp],
    ]);
  }

  /** The metadata at this path, as JSON. */
  document(pathname: string): string | undefined {
    return this.#documents.get(pathname);
  }

  /** `WWW-Authenticate` of a refusal; `undefined` when no other token would help. */
  challenge({ code, message, details }: FabricError, pathname: string): string | undefined {
    const { reason, scope } = details;
    const isScope = reason === INSUFFICIENT_SCOPE;
    if (!isScope && code !== 'AUTH_DENIED') return undefined;
    const failed = reason === 'missing' ? undefined : 'invalid_token';
    const error = isScope ? INSUFFICIENT_SCOPE : failed;
    const fields = {
      ...(error && { error, error_description: toQuotable(message) }),
      scope: isScope ? String(scope) : this.#basicScopes().join(' '),
      resource_metadata: this.#metadataUrl(pathname),
    };
    const parts = Object.entries(fields).map(([name, value]) => `${name}="${value}"`);
    return `Bearer ${parts.join(', ')}`;
  }

  /** Tells an OAuth caller which scopes it lacks; for all others what they may not use is unknown. */
  assertMayUse(principal: Principal, mayUse: MayUse): void {
    if (principal.mode !== 'oauth' || mayUse(principal)) return;
    const issuer = this.#issuers.find((each) => principal.id.startsWith(`${each.issuer}|`));
    const scope = issuer && scopesFor(issuer, principal, mayUse);
    if (scope === undefined) return;
    throw failure(INSUFFICIENT_SCOPE, { scope });
  }

  #metadataUrl(pathname: string): string {
    const { origin, pathname: path } = this.#base;
    const suffix = pathname === MCP || pathname.startsWith(`${MCP}/`) ? MCP : '';
    return `${origin}${WELL_KNOWN}${path.replace(/\/$/, '')}${suffix}`;
  }

  /** Those that reach agents; rights of administration are for callers who ask for them. */
  #basicScopes(): string[] {
    const all = this.#issuers.flatMap(({ scopes }) => Object.entries(scopes));
    const basic = all.filter(([, own]) => own.some(reachesAgents) && !own.some(isWide));
    return [...new Set((basic.length > 0 ? basic : all).map(([name]) => name))];
  }
}

/** Those that the token has and the narrowest one that helps: together all that a new token needs. */
function scopesFor(
  { scopes }: OauthIssuer,
  principal: Principal,
  mayUse: MayUse,
): string | undefined {
  const entries = Object.entries(scopes);
  const helpful = entries.filter(([, own]) => mayUse({ ...principal, scopes: own }));
  const narrow = ([, own]: (typeof entries)[number]) => own.length + (own.some(isWide) ? 1_000 : 0);
  const [needed] = helpful.sort((a, b) => narrow(a) - narrow(b));
  if (needed === undefined) return undefined;
  const has = ([, own]: (typeof entries)[number]) =>
    own.every((scope) => principal.scopes.includes(scope));
  const held = entries.filter(has).map(([name]) => name);
  return [...new Set([...held, needed[0]])].join(' ');
}

/** Within quotes, as RFC 6750 allows it. */
function toQuotable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'");
}

function reachesAgents(scope: string): boolean {
  return /^(?:agent:|capability:|toolset:agents$)/.test(scope);
}

function isWide(scope: string): boolean {
  return scope === '*' || scope.startsWith('admin:');
}

function baseOf(resource: string): string {
  return resource.replace(/\/$/, '');
}
