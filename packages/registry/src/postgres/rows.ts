// Rows of the database and what the gateway makes of them. A row counts only with a MAC of the realm: an
// endpoint that receives calls under the name of an agent is a right, and so are its tier and what it may
// call. What has none is held, and nothing of it but its names is read. Headers and variables of an agent
// may be its secrets: they are encrypted.

import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  agentIdSchema,
  definitionDigest,
  definitionOf,
  type InstanceEntry,
  type InstanceHold,
  type InstanceState,
  instanceKey,
  type Manifest,
  manifestSchema,
} from '@starloom/core';
import { deriveKey, Seal } from '@starloom/wire';
import { holdOf, type SharedRules } from '../shared-rules.ts';

export interface InstanceRow {
  readonly agent_id: string;
  readonly node_id: string;
  readonly digest: string;
  readonly body: string;
  readonly owner: string | null;
  readonly state: string;
  readonly epoch: string | number;
  readonly lease_ms: number | null;
  readonly expires_at: string | number | null;
  readonly revision: string | number;
  readonly mac: string;
  readonly definition: string | null;
  readonly definition_mac: string | null;
}

const UNSIGNED: InstanceHold = Object.freeze({
  reason: 'unsigned',
  message: 'The entry was not written by a gateway of this realm',
  fix: 'set the same realm.key on all gateways and add the agent again, or remove it',
});

/** No principal has this name: a held entry has no owner. */
const NO_OWNER = '\0';

export class InstanceRows {
  readonly #key: Buffer;
  readonly #seal: Seal;
  readonly #rules: SharedRules;
  /** Of the definitions that were read last: many instances share one. */
  readonly #definitions = new Map<string, Partial<Manifest>>();

  constructor(realmKey: Uint8Array, rules: SharedRules) {
    this.#key = deriveKey(realmKey, 'starloom registry');
    this.#seal = new Seal(deriveKey(realmKey, 'starloom registry secrets'));
    this.#rules = rules;
  }

  /** `undefined` when not even the names can be used. */
  toEntry(row: InstanceRow): InstanceEntry | undefined {
    const { agent_id, node_id, owner, digest } = row;
    const common = {
      revision: Number(row.revision),
      state: row.state as InstanceState,
      epoch: Number(row.epoch),
      digest,
    };
    if (!this.#isSigned(row)) {
      if (!agentIdSchema.safeParse(agent_id).success) return undefined;
      return { ...common, manifest: stub(agent_id, node_id), owner: NO_OWNER, hold: UNSIGNED };
    }
    const instance = this.#openPart(row);
    const manifest = { ...this.#definition(row), ...instance, node_id } as Manifest;
    return this.withHold({
      ...common,
      manifest,
      ...(owner !== null && { owner }),
      ...(row.lease_ms !== null && { leaseMs: row.lease_ms }),
      ...(row.expires_at !== null && { expiresAt: Number(row.expires_at) }),
    });
  }

  /** Held when the rules of this gateway do not let it serve the agent. */
  withHold(entry: InstanceEntry): InstanceEntry {
    const hold = entry.hold ?? holdOf(entry.manifest, this.#rules);
    return hold ? { ...entry, hold } : entry;
  }

  toRow(entry: InstanceEntry): Omit<InstanceRow, 'definition' | 'definition_mac'> {
    const { manifest, owner = null, state, epoch = 0, leaseMs = null, revision } = entry;
    const { agent_id, node_id } = manifest;
    const digest = entry.digest ?? definitionDigest(manifest);
    const body = JSON.stringify(this.#toSealedPart(manifest));
    const mac = this.#mac('instance', agent_id, node_id, digest, body, owner);
    const expires_at = state === 'expired' ? null : (entry.expiresAt ?? null);
    return {
      ...{ agent_id, node_id, digest, body, owner, state, epoch, expires_at, revision, mac },
      lease_ms: leaseMs,
    };
  }

  toDefinition({ manifest, digest = definitionDigest(manifest) }: InstanceEntry) {
    const { agent_id, capabilities = [], tags, trust_tier: tier } = manifest;
    const body = JSON.stringify(definitionOf(manifest));
    const mac = this.#mac('definition', agent_id, digest, body);
    const names = capabilities.map(({ name }) => name);
    return { agent_id, digest, body, capabilities: names, tags, tier, mac };
  }

  /** The bodies of rows that were read are let go. */
  forgetBodies(): void {
    this.#definitions.clear();
  }

  #toSealedPart(manifest: Manifest): object {
    const instance = instancePart(manifest);
    const { headers, env, ...open } = instance.endpoint;
    if (!headers && !env) return instance;
    const sealed = this.#seal.seal(JSON.stringify({ headers, env }), instanceKey(manifest));
    return { ...instance, endpoint: { ...open, sealed } };
  }

  /** An entry without secrets is not sealed. */
  #openPart(row: InstanceRow): Partial<Manifest> {
    const instance = JSON.parse(row.body);
    const { sealed, ...open } = instance.endpoint;
    if (typeof sealed !== 'string') return instance;
    const secrets = JSON.parse(this.#seal.open(sealed, instanceKey(row)) ?? '{}');
    return { ...instance, endpoint: { ...open, ...secrets } };
  }

  #isSigned(row: InstanceRow): boolean {
    const { agent_id, node_id, digest, body, owner, definition, definition_mac } = row;
    if (definition === null || definition_mac === null) return false;
    return (
      isSame(row.mac, this.#mac('instance', agent_id, node_id, digest, body, owner)) &&
      isSame(definition_mac, this.#mac('definition', agent_id, digest, definition))
    );
  }

  #definition({ agent_id, digest, definition }: InstanceRow): Partial<Manifest> {
    const key = `${agent_id} ${digest}`;
    const known = this.#definitions.get(key);
    if (known) return known;
    const parsed = JSON.parse(definition ?? '{}') as Partial<Manifest>;
    this.#definitions.set(key, parsed);
    return parsed;
  }

  #mac(...parts: readonly (string | null)[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('base64url');
  }
}

/** The manifest as it is when it is read back, member for member: what is equal stays one object. */
export function asStored(manifest: Manifest): Manifest {
  const { node_id } = manifest;
  return { ...definitionOf(manifest), ...instancePart(manifest), node_id } as Manifest;
}

function instancePart({ version, description, endpoint, region, weight }: Manifest) {
  const { headers, env, ...open } = endpoint;
  return {
    version,
    ...(description !== undefined && { description }),
    endpoint: { ...open, ...(headers && { headers }), ...(env && { env }) },
    ...(region !== undefined && { region }),
    ...(weight !== undefined && { weight }),
  };
}

function isSame(given: string, own: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(own)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Names alone: nothing else of an entry without a MAC is used. */
function stub(agent_id: string, node_id: string): Manifest {
  return manifestSchema.parse({
    agent_id,
    node_id: node_id.slice(0, 128).replace(/\p{Cc}/gu, '?') || '?',
    endpoint: { transport: 'http', uri: 'http://held.invalid/' },
  });
}
