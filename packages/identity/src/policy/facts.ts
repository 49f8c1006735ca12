// What a rule may ask about, a row for each fact: its type in rules, where its value comes from, and how
// people give it in `policy-tests.yaml`. The variables and types of rules follow from the rows. Below them
// stands what the audit log keeps of the facts of a call, from which the call can be decided again. The names
// are those of the configuration and of wire documents.

import {
  AUTH_MODES,
  agentIdSchema,
  type Manifest,
  type TrustTier,
  trustTierSchema,
  UNKNOWN_VERSION,
} from '@starloom/core';
import { z } from 'zod';
import { type Delegation, LOCAL_PRINCIPAL, onBehalfOf, type Principal } from '../principal.ts';

interface Fact<Source> {
  /** In rules. */
  readonly type: string;
  readonly of: (source: Source) => unknown;
  /** In `policy-tests.yaml`; absent where other fields say it. */
  readonly given?: z.ZodType;
}

export type PolicyAgent = Pick<
  Manifest,
  'agent_id' | 'node_id' | 'version' | 'tags' | 'trust_tier' | 'auth'
>;

/** What is known of a call beside its caller and its target. */
export interface PolicyCall {
  readonly depth: number;
  /** In milliseconds. */
  readonly time: number;
  /** The lowest tier of those along the chain of the call. */
  readonly originTier: TrustTier;
}

const principalRows = {
  id: { type: 'string', of: ({ id }) => id, given: z.string().min(1) },
  mode: { type: 'string', of: ({ mode }) => mode, given: z.enum(AUTH_MODES).default('psk') },
  tier: { type: 'string', of: ({ tier }) => tier, given: trustTierSchema.default('org') },
  scopes: {
    type: 'list<string>',
    of: ({ scopes }) => scopes,
    given: z.array(z.string()).default(['*']),
  },
  /** Empty for callers without a key. */
  key_id: { type: 'string', of: ({ keyId }) => keyId ?? '', given: z.string().optional() },
  on_behalf_of: { type: 'string', of: onBehalfOf },
  /** Who acts for the principal, by passport or mandate; empty when it acts itself. */
  delegate: {
    type: 'string',
    of: ({ delegation }) => delegation?.delegateId ?? '',
    given: z.string().optional().describe('Who acts for the caller'),
  },
} satisfies Record<string, Fact<Principal>>;

const agentRows = {
  id: { type: 'string', of: ({ agent_id }) => agent_id, given: agentIdSchema },
  node: { type: 'string', of: ({ node_id }) => node_id, given: z.string().min(1).default('local') },
  version: {
    type: 'string',
    of: ({ version }) => version,
    given: z.string().min(1).default(UNKNOWN_VERSION),
  },
  tags: { type: 'list<string>', of: ({ tags }) => tags, given: z.array(z.string()).default([]) },
  trust_tier: {
    type: 'string',
    of: ({ trust_tier }) => trust_tier,
    given: trustTierSchema.default('public'),
  },
} satisfies Record<string, Fact<PolicyAgent>>;

const originRows = {
  tier: { type: 'string', of: (tier) => tier },
} satisfies Record<string, Fact<TrustTier>>;

const callRows = {
  /** CEL has integers as bigint. */
  depth: { type: 'int', of: ({ depth }) => BigInt(depth), given: z.int().min(1).default(1) },
  time: {
    type: 'google.protobuf.Timestamp',
    of: ({ time }) => new Date(time),
    given: z.iso.datetime({ offset: true }).optional().describe('Now, unless given'),
  },
  origin: { type: 'Origin', of: ({ originTier }) => ORIGINS[originTier] },
} satisfies Record<string, Fact<PolicyCall>>;

export class PrincipalFacts {
  constructor(principal: Principal) {
    Object.assign(this, valuesOf(principalRows, principal));
  }
}

export class AgentFacts {
  constructor(agent: PolicyAgent) {
    Object.assign(this, valuesOf(agentRows, agent));
  }
}

class OriginFacts {
  declare readonly tier: TrustTier;

  constructor(tier: TrustTier) {
    Object.assign(this, valuesOf(originRows, tier));
  }
}

const ORIGINS: Readonly<Record<TrustTier, OriginFacts>> = {
  local: new OriginFacts('local'),
  org: new OriginFacts('org'),
  partner: new OriginFacts('partner'),
  public: new OriginFacts('public'),
};

/** The types of rules by name. */
export const TYPES = {
  Principal: { ctor: PrincipalFacts, fields: typesOf(principalRows) },
  Agent: { ctor: AgentFacts, fields: typesOf(agentRows) },
  Origin: { ctor: OriginFacts, fields: typesOf(originRows) },
};

/** The last thing that a rule has to know: an agent, its capability, the chain of a call, or its time. */
export const NEEDS = ['agent', 'capability', 'chain', 'call'] as const;
export type Needs = (typeof NEEDS)[number];

/** The variables of rules; each is a fact by itself, or has facts. */
export const VARIABLES: Readonly<Record<string, { readonly type: string; readonly needs: Needs }>> =
  {
    principal: { type: 'Principal', needs: 'agent' },
    agent: { type: 'Agent', needs: 'agent' },
    capability: { type: 'string', needs: 'capability' },
    ...Object.fromEntries(
      Object.entries(callRows).map(([name, { type }]) => {
        return [name, { type, needs: name === 'time' ? 'call' : 'chain' } as const];
      }),
    ),
  };

/** Everything that is known when a call is decided, by variable. */
export interface CallFacts {
  readonly principal: PrincipalFacts;
  readonly agent: AgentFacts;
  /** Empty for the resources and prompts of an agent. */
  readonly capability: string;
  /** Known at the call alone, as is everything else that `PolicyCall` says. */
  readonly origin?: OriginFacts;
}

export function toFacts(target: CallFacts, call: PolicyCall): CallFacts {
  return { ...target, ...valuesOf(callRows, call) };
}

/** For trying out parts of a rule. */
export const SAMPLE_FACTS = toFacts(
  {
    principal: new PrincipalFacts(LOCAL_PRINCIPAL),
    agent: new AgentFacts({
      agent_id: 'sample',
      node_id: 'local',
      version: UNKNOWN_VERSION,
      tags: [],
      trust_tier: 'org',
    }),
    capability: 'sample',
  },
  { depth: 1, time: 0, originTier: 'org' },
);

export const givenPrincipalSchema = z.strictObject(givenOf(principalRows));
export const givenAgentSchema = z.strictObject({
  ...givenOf(agentRows),
  min_tier: trustTierSchema.optional(),
});
export const givenCallFields = {
  ...givenOf(callRows),
  origin_tier: trustTierSchema.optional().describe('Lowest tier of the chain'),
};

type GivenPrincipal = z.output<typeof givenPrincipalSchema>;
type GivenAgent = z.output<typeof givenAgentSchema>;

export function fromGivenPrincipal(given: GivenPrincipal): Principal {
  const { id, mode, tier, scopes, key_id = null, delegate } = given;
  const principal = { id, mode, tier, scopes, keyId: key_id };
  if (delegate === undefined) return principal;
  const delegation = { principalId: id, delegateId: delegate } as Delegation;
  return { ...principal, id: `${id}/${delegate}`, delegation };
}

export function fromGivenAgent({ id, node, min_tier, ...rest }: GivenAgent): PolicyAgent {
  const auth = min_tier && { mandate: false, min_tier };
  return { agent_id: id, node_id: node, ...rest, ...(auth && { auth }) };
}

export function fromGivenCall(
  { depth, time, origin_tier }: z.output<z.ZodObject<typeof givenCallFields>>,
  { tier }: Principal,
  now: number,
): PolicyCall {
  const at = time === undefined ? now : Date.parse(time);
  return { depth, time: at, originTier: origin_tier ?? tier };
}

/** What the audit log keeps of a call, for rules; `at` of the record is its time. */
export const recordedFields = {
  principal: z.string(),
  delegate: z.string().optional(),
  grant: z.string(),
  mode: z.string(),
  tier: trustTierSchema.optional(),
  origin_tier: trustTierSchema.optional(),
  depth: z.int().optional(),
};

export type RecordedFacts = z.output<z.ZodObject<typeof recordedFields>>;

/** The call as rules saw it; its scopes are those that its key has now. */
export function fromRecordedFacts(
  record: RecordedFacts & { readonly at: string },
  scopesOf: (keyId: string) => readonly string[],
): { readonly principal: Principal; readonly call: PolicyCall } | undefined {
  const { principal: id, delegate, grant, tier, origin_tier: originTier = tier } = record;
  if (tier === undefined || originTier === undefined) return undefined;
  const key_id = grant.startsWith('key:') ? grant.slice('key:'.length) : undefined;
  const scopes = key_id === undefined ? [] : [...scopesOf(key_id)];
  const mode = record.mode as Principal['mode'];
  const principal = fromGivenPrincipal({ id, mode, tier, scopes, key_id, delegate });
  const call = { depth: record.depth ?? 1, time: Date.parse(record.at), originTier };
  return { principal, call };
}

function valuesOf<Source>(rows: Readonly<Record<string, Fact<Source>>>, source: Source): object {
  const values: Record<string, unknown> = {};
  for (const name in rows) values[name] = rows[name]?.of(source);
  return values;
}

function typesOf<Name extends string>(rows: Readonly<Record<Name, { readonly type: string }>>) {
  const names = Object.keys(rows) as Name[];
  return Object.fromEntries(names.map((name) => [name, rows[name].type])) as Record<Name, string>;
}

type Given<Rows> = {
  [Name in keyof Rows as Rows[Name] extends { given: z.ZodType }
    ? Name
    : never]: Rows[Name] extends {
    given: infer Schema;
  }
    ? Schema
    : never;
};

function givenOf<Rows extends Readonly<Record<string, { type: string; given?: z.ZodType }>>>(
  rows: Rows,
): Given<Rows> {
  const given = Object.entries(rows).filter(([, row]) => row.given !== undefined);
  return Object.fromEntries(given.map(([name, row]) => [name, row.given])) as Given<Rows>;
}
