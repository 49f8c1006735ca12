// One connection of a node. What it offers is registered as any agent registers itself, under the principal
// of its key, and stays for as long as the connection answers. With several gateways on one registry a
// node connects to each: they renew one registration.

import {
  type AgentInstance,
  canonicalJson,
  FabricError,
  type Fields,
  type InstanceEpoch,
  type Log,
  type Manifest,
  MIN_LEASE_MS,
  nodeIdSchema,
  parseManifest,
  type Registry,
  toFields,
} from '@starloom/core';
import { isRegistryOperator, type Principal } from '@starloom/identity';
import { NodeLink, type ServedStream } from '@starloom/wire/node-link';
import { z } from 'zod';
import { LIST_KINDS } from '../mcp/list-changes.ts';
import { failure } from '../reasons.ts';
import type { Registrations } from '../registrations.ts';
import type { MessageChannel } from '../transports/message-channel.ts';
import type { LinkedNode, NodeLinks } from './node-links.ts';

export interface NodeSessionOptions {
  readonly links: NodeLinks;
  readonly registry: Registry;
  readonly registrations: Registrations;
  readonly version: string;
  readonly log: Log;
  /** How often both sides make sure of each other; three beats without an answer end the connection. */
  readonly heartbeatMs: number;
  /** The largest message that is taken, in characters. */
  readonly maxLength: number;
}

const HELLO_MS = 10_000;
/** Beats in the time of a lease: two may get lost. */
const BEATS = 3;
/** Requests of a node that are under way at once. */
const MAX_SERVED = 16;
const MAX_AGENTS = 1_000;
/** Version of the messages between node and gateway. */
const NODE_PROTOCOL = 1;

const helloSchema = z.object({
  protocol: z.literal(NODE_PROTOCOL),
  node_id: nodeIdSchema.refine((id) => id !== 'local', { error: 'is the name of gateways' }),
  run_id: z.string().min(8).max(64),
});
const offerSchema = z.object({ agents: z.array(z.unknown()).max(MAX_AGENTS) });
const listSchema = z.object({ agent_id: z.string(), kind: z.enum(LIST_KINDS) });

interface Offer {
  readonly manifest: Manifest;
  /** Undefined while it is being registered, or after the registry lost it. */
  epoch?: number;
  isRegistered: boolean;
}

/** One connection of a node. */
export class NodeSession {
  readonly #options: NodeSessionOptions;
  readonly #principal: Principal;
  readonly #link: NodeLink;
  readonly #offers = new Map<string, Offer>();
  #node: LinkedNode | undefined;
  #isDraining = false;
  /** Changes of the registrations of a node are made one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(channel: MessageChannel, principal: Principal, options: NodeSessionOptions) {
    this.#options = options;
    this.#principal = principal;
    this.#link = new NodeLink({
      channel,
      serve: (stream) => this.#serve(stream),
      peer: 'a node',
      log: options.log,
      maxServed: MAX_SERVED,
    });
  }

  /** Resolves when the connection is over. */
  async run(): Promise<void> {
    const { links, log, heartbeatMs } = this.#options;
    const silent = setTimeout(() => {
      if (!this.#node) this.#link.close(failure('node_hello', { problem: 'none came' }));
    }, HELLO_MS).unref();
    const beat = setInterval(() => void this.#inTurn(() => this.#renewAll()), heartbeatMs).unref();
    const reason = await this.#link.closed;
    clearTimeout(silent);
    clearInterval(beat);
    if (!this.#node) return;
    const { nodeId: node_id } = this.#node;
    links.remove(this.#node);
    log.info({ node_id, reason: reason.message }, 'node disconnected');
    await this.#inTurn(() => this.#lost(node_id));
  }

  async #serve({ method, params }: ServedStream): Promise<unknown> {
    if (method === 'hello') return this.#hello(params);
    const node = this.#node;
    if (!node) throw failure('node_hello', { problem: `it was ${method}` });
    switch (method) {
      case 'offer': {
        const { agents } = parse(offerSchema, method, params);
        return await this.#inTurn(() => this.#offer(node, agents));
      }
      case 'drain':
        this.#isDraining = true;
        return await this.#inTurn(() => this.#each((key) => this.#registered('drain', key)));
      case 'leave':
        return await this.#inTurn(() => this.#leave([...this.#offers.keys()]));
      case 'list_changed': {
        const { agent_id, kind } = parse(listSchema, method, params);
        this.#options.links.listChanged({ agent_id, node_id: node.nodeId }, kind);
        return null;
      }
      default:
        throw failure('node_request', { method });
    }
  }

  #hello(params: Fields): Fields {
    const { links, log, version, heartbeatMs, maxLength } = this.#options;
    const { data, error } = helloSchema.safeParse(params);
    if (!data || this.#node) {
      throw failure('node_hello', { problem: error?.issues[0]?.message ?? 'it came twice' });
    }
    const { node_id: nodeId, run_id: runId } = data;
    const node: LinkedNode = {
      nodeId,
      runId,
      principalId: this.#principal.id,
      link: this.#link,
      offerOf: (agentId) => {
        const offer = this.#offers.get(agentId);
        return offer && (offer.isRegistered ? 'registered' : 'pending');
      },
    };
    links.add(node);
    this.#node = node;
    this.#link.peer = `node "${nodeId}"`;
    log.info({ node_id: nodeId }, 'node connected');
    return { version, heartbeat_ms: heartbeatMs, max_length: maxLength };
  }

  /** For each agent, whether it is served here now, or why not. */
  async #offer({ nodeId }: LinkedNode, given: readonly unknown[]): Promise<Fields> {
    const named = given.map((one) => toOffered(one, nodeId));
    const ids = new Set(named.map(({ agent_id }) => agent_id));
    await this.#leave([...this.#offers.keys()].filter((id) => !ids.has(id)));
    const agents = await Promise.all(
      named.map(async ({ agent_id, manifest, error: refused }) => {
        const error = manifest ? await this.#tryRegister(manifest) : refused;
        if (!error) return { agent_id, ok: true };
        const { code, message, details } = error;
        return { agent_id, ok: false, error: { code, message, details } };
      }),
    );
    return { agents };
  }

  async #tryRegister(manifest: Manifest): Promise<FabricError | undefined> {
    const { agent_id } = manifest;
    const isRegistered = this.#offers.get(agent_id)?.isRegistered ?? false;
    this.#offers.set(agent_id, { manifest, isRegistered });
    try {
      await this.#register(manifest);
      return undefined;
    } catch (thrown) {
      const error = FabricError.from(thrown);
      // While the registry is away the agent stays offered; each beat tries again.
      if (error.code !== 'OVERLOADED') this.#offers.delete(agent_id);
      return error;
    } finally {
      this.#options.links.noteOffers();
    }
  }

  async #register(manifest: Manifest): Promise<void> {
    const { registry, registrations, heartbeatMs } = this.#options;
    const { agent_id, node_id } = manifest;
    const leaseMs = Math.max(MIN_LEASE_MS, BEATS * heartbeatMs);
    const epoch =
      (await this.#adopt(manifest)) ??
      (await registrations.register(this.#principal, { manifest, leaseMs })).epoch;
    this.#offers.set(agent_id, { manifest, epoch, isRegistered: true });
    if (this.#isDraining) await this.#registered('drain', { agent_id, node_id, epoch });
    if (this.#known(manifest)?.health.reason !== 'no_link') return;
    await registry.updateHealth(agent_id, { status: 'unknown', checked_at: null }, node_id);
  }

  /** The epoch of the same instance that another gateway registered for the same node. */
  async #adopt(manifest: Manifest): Promise<number | undefined> {
    const { agent_id, node_id } = manifest;
    const known = this.#known(manifest);
    const owner = isRegistryOperator(this.#principal) ? undefined : this.#principal.id;
    const isSame =
      known?.state === 'active' &&
      known.owner === owner &&
      canonicalJson(known.manifest) === canonicalJson(manifest);
    if (!isSame || known.epoch === undefined) return undefined;
    const { epoch } = known;
    return (await this.#registered('renew', { agent_id, node_id, epoch })) ? epoch : undefined;
  }

  #known({ agent_id, node_id }: Manifest): AgentInstance | undefined {
    const instances = this.#options.registry.get(agent_id)?.instances ?? [];
    return instances.find(({ manifest }) => manifest.node_id === node_id);
  }

  async #renewAll(): Promise<void> {
    if (!this.#link.isOpen) return;
    await Promise.all(
      [...this.#offers.values()].map(async ({ manifest, epoch }) => {
        const { agent_id, node_id } = manifest;
        try {
          const isKnown =
            epoch !== undefined && (await this.#registered('renew', { agent_id, node_id, epoch }));
          if (!isKnown) await this.#tryRegister(manifest);
        } catch (thrown) {
          const error = FabricError.from(thrown);
          this.#options.log.warn({ agent_id, node_id, error }, 'a lease was not renewed');
        }
      }),
    );
  }

  async #leave(agentIds: readonly string[]): Promise<null> {
    const ids = new Set(agentIds);
    await this.#each((key) => (ids.has(key.agent_id) ? this.#registered('leave', key) : undefined));
    for (const agentId of agentIds) this.#offers.delete(agentId);
    return null;
  }

  async #each(work: (key: InstanceEpoch) => Promise<unknown> | undefined): Promise<null> {
    const keys = [...this.#offers.values()].flatMap(({ manifest, epoch }) =>
      epoch === undefined ? [] : { agent_id: manifest.agent_id, node_id: manifest.node_id, epoch },
    );
    await Promise.all(keys.map(work));
    return null;
  }

  /** False when the registration has ended, as another gateway of the node may have done. */
  async #registered(what: 'renew' | 'drain' | 'leave', key: InstanceEpoch): Promise<boolean> {
    try {
      await this.#options.registrations[what](this.#principal, key);
      return true;
    } catch (error) {
      if (FabricError.from(error).details.reason === 'stale_epoch') return false;
      throw error;
    }
  }

  /** Its agents are offline here at once; other gateways of the node still serve them. */
  async #lost(node_id: string): Promise<void> {
    const { links, registry, log } = this.#options;
    const { message } = failure('no_link', { node_id });
    const checked_at = new Date().toISOString();
    const health = { status: 'offline', reason: 'no_link', message, checked_at } as const;
    for (const agent_id of this.#offers.keys()) {
      if (links.isLinked({ agent_id, node_id })) continue;
      await registry.updateHealth(agent_id, health, node_id).catch((error: unknown) => {
        log.warn({ agent_id, error: FabricError.from(error) }, 'health could not be recorded');
      });
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** What a node offers, as an instance that is reached through it. Its endpoint stays with the node. */
function toOffered(value: unknown, node_id: string): OfferedAgent {
  const { endpoint, ...rest } = toFields(value);
  const { protocol } = toFields(endpoint);
  const { agent_id } = rest;
  try {
    const reached = { transport: 'node', ...(protocol !== undefined && { protocol }) };
    const manifest = parseManifest({ ...rest, node_id, endpoint: reached });
    return { agent_id: manifest.agent_id, manifest };
  } catch (error) {
    return { agent_id: String(agent_id), error: FabricError.from(error) };
  }
}

type OfferedAgent =
  | { readonly agent_id: string; readonly manifest: Manifest; readonly error?: never }
  | { readonly agent_id: string; readonly manifest?: never; readonly error: FabricError };

function parse<Value>(schema: z.ZodType<Value>, method: string, params: Fields): Value {
  const { data, success } = schema.safeParse(params);
  if (!success) throw failure('node_request', { method });
  return data;
}
