// What a rule may ask about. The names are those of the configuration and of wire documents.

import type { Manifest, TrustTier } from '@starloom/core';
import { onBehalfOf, type Principal } from '../principal.ts';

/** Everything that is known when a call is decided; CEL has integers as bigint. */
export interface CallFacts {
  readonly principal: PrincipalFacts;
  readonly agent: AgentFacts;
  readonly origin: OriginFacts;
  /** Empty for the resources and prompts of an agent. */
  readonly capability: string;
  readonly depth: bigint;
  readonly time: Date;
}

export class PrincipalFacts {
  static readonly fields = {
    id: 'string',
    mode: 'string',
    tier: 'string',
    scopes: 'list<string>',
    key_id: 'string',
    on_behalf_of: 'string',
    delegate: 'string',
  } as const;
  static readonly sample = new PrincipalFacts({
    id: 'sample',
    mode: 'psk',
    tier: 'org',
    scopes: [],
    keyId: null,
  });

  readonly id: string;
  readonly mode: string;
  readonly tier: TrustTier;
  readonly scopes: readonly string[];
  /** Empty for callers without a key. */
  readonly key_id: string;
  readonly on_behalf_of: string;
  /** Who acts for the principal, by passport or mandate; empty when it acts itself. */
  readonly delegate: string;

  constructor(principal: Principal) {
    const { id, mode, tier, scopes, keyId, delegation } = principal;
    this.id = id;
    this.mode = mode;
    this.tier = tier;
    this.scopes = scopes;
    this.key_id = keyId ?? '';
    this.on_behalf_of = onBehalfOf(principal);
    this.delegate = delegation?.delegateId ?? '';
  }
}

export type PolicyAgent = Pick<
  Manifest,
  'agent_id' | 'node_id' | 'version' | 'tags' | 'trust_tier' | 'auth'
>;

export class AgentFacts {
  static readonly fields = {
    id: 'string',
    node: 'string',
    version: 'string',
    tags: 'list<string>',
    trust_tier: 'string',
  } as const;
  static readonly sample = new AgentFacts({
    agent_id: 'sample',
    node_id: 'local',
    version: '0.0.0',
    tags: [],
    trust_tier: 'org',
  });

  readonly id: string;
  readonly node: string;
  readonly version: string;
  readonly tags: readonly string[];
  readonly trust_tier: TrustTier;

  constructor({ agent_id, node_id, version, tags, trust_tier }: PolicyAgent) {
    this.id = agent_id;
    this.node = node_id;
    this.version = version;
    this.tags = tags;
    this.trust_tier = trust_tier;
  }
}

export class OriginFacts {
  static readonly fields = { tier: 'string' } as const;
  static readonly sample = new OriginFacts('org');

  /** The lowest tier of those along the chain of the call. */
  readonly tier: TrustTier;

  constructor(tier: TrustTier) {
    this.tier = tier;
  }
}
