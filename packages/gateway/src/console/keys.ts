// Keys, passports and mandates. What is secret of a key is shown once, when it is made. A person gives away
// no more than it has; without `admin:keys` it sees and ends its own keys alone.

import type {
  ChainLink,
  DecodedToken,
  JsonObject,
  KeyList,
  KeyView,
  RevocationView,
  Simulation,
} from '@starloom/console/api-types';
import { FabricError, isTrustedAs, trustTierSchema } from '@starloom/core';
import {
  covers,
  createKey,
  type Identity,
  type KeyRecord,
  listKeys,
  listRevocations,
  mayAdministrate,
  type Principal,
  revokeKey,
  scopeProblem,
  stateOf,
} from '@starloom/identity';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import {
  assertMay,
  type ConsoleRequest,
  compact,
  type Handlers,
  parse,
  scopeOf,
  withPart,
} from './request.ts';

const HOUR_MS = 3_600_000;

const createSchema = z.strictObject({
  key_id: z.string().max(64),
  principal: z.string().min(1).max(256),
  tier: trustTierSchema.default('org'),
  scopes: z
    .array(z.string().refine((scope) => scopeProblem(scope) === undefined, 'is not a scope'))
    .max(64),
  expires_in_hours: z.number().positive().max(100_000).optional(),
});

const revokeSchema = z.strictObject({
  kind: z.enum(['principal', 'delegate', 'grant']),
  id: z.string().min(1).max(256),
});

const simulateSchema = z.strictObject({
  key_id: z.string(),
  agent_id: z.string(),
  capability: z.string().min(1).max(256),
});

export const keyHandlers: Handlers = {
  'GET keys': withPart('identity', async (request, identity): Promise<KeyList> => {
    const { epoch, revocations } = await listRevocations(identity.folder);
    const scope = scopeOf(request.principal, 'keys');
    const keys = await keysFor(request, identity);
    return { scope, keys, epoch, revocations: scope === 'all' ? toViews(revocations) : [] };
  }),
  'POST keys': withPart('identity', async (request, identity) => {
    assertMay(request, 'keys');
    const asked = parse(createSchema, request.body, 'the key');
    assertNotWider(request.principal, asked);
    const { key_id: keyId, expires_in_hours: hours, ...grant } = asked;
    const now = nowOf(request);
    const expiresAt = hours === undefined ? undefined : now + hours * HOUR_MS;
    const { key, record } = await createKey(identity.folder, { keyId, ...grant, expiresAt }, now);
    return { secret: key, key: fromRecord(record, request) };
  }),
  'POST keys/:id/revoke': withPart('identity', async (request, identity) => {
    const keyId = request.params.id ?? '';
    const { principal } = request;
    const known = (await listKeys(identity.folder)).find(({ key_id }) => key_id === keyId);
    const isOwn = known?.principal === principal.id;
    if (!isOwn) assertMay(request, 'keys');
    if (!known) throw failure('not_found/key', { key_id: keyId.slice(0, 100) });
    const record = await revokeKey(identity.folder, keyId, nowOf(request));
    return { key: fromRecord(record, request) };
  }),
  'POST keys/revoke-grant': withPart('identity', async (request, identity) => {
    assertMay(request, 'keys');
    const { kind, id } = parse(revokeSchema, request.body, 'the grant');
    return { epoch: await identity.revoke(kind, id) };
  }),
  'POST keys/decode': withPart('identity', async ({ body }, identity) => {
    const { token } = parse(z.strictObject({ token: z.string().max(8_192) }), body, 'the token');
    return await decodeToken(token.trim(), identity);
  }),
  'POST keys/simulate': simulate,
};

async function keysFor(request: ConsoleRequest, identity: Identity): Promise<readonly KeyView[]> {
  const { principal } = request;
  const stored = await listKeys(identity.folder);
  const ids = new Set(stored.map(({ key_id }) => key_id));
  const configured = (identity.authenticator.keys?.list() ?? [])
    .filter(({ keyId }) => keyId !== null && !ids.has(keyId))
    .map(({ id, tier, scopes, keyId }): KeyView => {
      const key_id = keyId ?? '';
      const is_mine = isMine(key_id, request);
      const common = { source: 'configuration', state: 'active', is_mine } as const;
      return { key_id, principal: id, tier, scopes, ...common };
    });
  const all = [...configured, ...stored.map((record) => fromRecord(record, request))];
  if (mayAdministrate(principal, 'keys')) return all;
  return all.filter((key) => key.principal === principal.id);
}

function fromRecord(record: KeyRecord, request: ConsoleRequest): KeyView {
  const { key_id, principal, tier, scopes, expires_at } = record;
  return {
    key_id,
    principal,
    tier,
    scopes,
    source: 'state',
    state: stateOf(record, nowOf(request)),
    ...(expires_at !== null && { expires_at }),
    is_mine: isMine(key_id, request),
  };
}

function isMine(keyId: string, { principal: { mode, keyId: own } }: ConsoleRequest): boolean {
  return mode === 'psk' && own === keyId;
}

/** No key of a person is worth more than the person's own. */
function assertNotWider(
  { tier, scopes }: Principal,
  asked: { readonly tier: Principal['tier']; readonly scopes: readonly string[] },
): void {
  const wider = asked.scopes.find((scope) => !scopes.some((own) => covers(own, scope)));
  if (wider !== undefined) throw failure('console_wider', { what: `the scope ${wider}` });
  if (!isTrustedAs(tier, asked.tier)) {
    throw failure('console_wider', { what: `the tier ${asked.tier}` });
  }
}

const KINDS = { prn: 'principal', sub: 'delegate', mnd: 'grant', sus: 'suspended' } as const;

function toViews(
  revoked: Awaited<ReturnType<typeof listRevocations>>['revocations'],
): readonly RevocationView[] {
  return revoked.flatMap(({ key, epoch, at, lifted }) => {
    const [prefix = '', ...rest] = key.split(':');
    const kind = KINDS[prefix as keyof typeof KINDS];
    return lifted || kind === undefined ? [] : [{ kind, id: rest.join(':'), epoch, at }];
  });
}

/** What it says, and whether this gateway would take it now. */
async function decodeToken(token: string, identity: Identity): Promise<DecodedToken> {
  const [header, claims] = token.split('.').slice(0, 2).map(toObject);
  const kind = kindOf(header?.typ);
  const seconds = (name: string) => {
    const value = claims?.[name];
    return typeof value === 'number' ? new Date(value * 1_000).toISOString() : undefined;
  };
  const text = (name: string) => (typeof claims?.[name] === 'string' ? claims[name] : undefined);
  const texts = (name: string) => {
    const value = claims?.[name];
    return Array.isArray(value) ? value.map(String) : [];
  };
  const error = await refusalOf(token, kind, identity);
  return compact<DecodedToken>({
    kind,
    valid: kind !== 'unknown' && error === undefined,
    error,
    claims: claims ?? {},
    principal: text('prn'),
    delegate: text('sub'),
    grant: text('mnd'),
    audience: text('aud'),
    cap: texts('cap'),
    scp: texts('scp'),
    issued_at: seconds('iat'),
    expires_at: seconds('exp'),
    chain: chainOf(claims ?? {}),
  });
}

async function refusalOf(token: string, kind: DecodedToken['kind'], identity: Identity) {
  if (kind === 'unknown') return undefined;
  const verifier = kind === 'passport' ? identity.passports : identity.mandates;
  try {
    await verifier.verify(token);
    return undefined;
  } catch (thrown) {
    return FabricError.from(thrown).toPayload(null).error;
  }
}

function kindOf(type: unknown): DecodedToken['kind'] {
  if (type === 'passport+jwt') return 'passport';
  return type === 'mandate+jwt' ? 'mandate' : 'unknown';
}

function toObject(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** From the principal down to who holds the token: `act` nests the last one first. */
function chainOf({ prn, sub, act, aud, dep, tier }: JsonObject): readonly ChainLink[] {
  const before: ChainLink[] = [];
  for (let actor = act as JsonObject | undefined; actor; actor = actor.act as JsonObject) {
    before.unshift({ kind: 'agent', id: String(actor.sub) });
  }
  const isMandate = dep !== undefined;
  const trusted = typeof tier === 'string' ? { tier } : {};
  return [
    { kind: 'principal', id: String(prn ?? ''), ...trusted },
    ...before,
    ...(sub !== prn ? [{ kind: 'delegate' as const, id: String(sub ?? '') }] : []),
    ...(isMandate ? [{ kind: 'agent' as const, id: String(aud ?? '') }] : []),
  ];
}

/** What the scopes and the policy would say; nothing is called. */
function simulate(request: ConsoleRequest): Simulation {
  const { parts, principal } = request;
  const asked = parse(simulateSchema, request.body, 'the call');
  const known = parts.gateway.authenticator.keys?.find(asked.key_id);
  if (known?.principal.id !== principal.id) assertMay(request, 'keys');
  if (!known) throw failure('not_found/key', { key_id: asked.key_id.slice(0, 100) });
  const record = parts.gateway.registry.get(asked.agent_id);
  if (!record) throw failure('not_found/agent', { agent_id: asked.agent_id, fix: undefined });
  const { authoriser } = parts.pipeline.deps;
  const call = { depth: 1, time: nowOf(request), originTier: known.principal.tier };
  const { effect, rule, visible } = authoriser.explain(
    known.principal,
    record.manifest,
    asked.capability,
    call,
  );
  return { effect, ...(rule !== undefined && { rule }), visible };
}

function nowOf({ parts }: ConsoleRequest): number {
  return parts.pipeline.deps.clock.now();
}
