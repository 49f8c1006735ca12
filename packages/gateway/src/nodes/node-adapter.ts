// An agent behind a node: the envelope goes over the connection of the node, whose own adapter speaks to the
// agent, and its events come back. What a node sends is foreign, and is checked here. A call that is cut
// off joins what runs at the agent once the node is back, where the agent's protocol has a handle for that.

import type { ServerCapabilities } from '@modelcontextprotocol/server';
import type { McpRelay } from '@starloom/adapters';
import {
  type Adapter,
  type AgentDescription,
  type AgentHandle,
  type CallContext,
  type Capability,
  capabilitySchema,
  type Envelope,
  type EventBody,
  eventBodySchema,
  FabricError,
  type Fields,
  type Health,
  healthSchema,
  type InputRequest,
  isObject,
  type Manifest,
  protocolOf,
  sha256Hex,
  toFields,
  toHealthReason,
} from '@starloom/core';
import type { NodeLink, OpenOptions } from '@starloom/wire/node-link';
import type { ListKind } from '../mcp/list-changes.ts';
import { failure } from '../reasons.ts';
import type { NodeLinks } from './node-links.ts';

/** How long a call that was cut off waits for its node, if it can go on there. */
const MAX_REJOIN_MS = 15_000;
const MAX_CAPABILITIES = 10_000;
const MAX_NAME_LENGTH = 256;

export function openNodeAdapter(manifest: Manifest, links: NodeLinks): Adapter {
  const isMcp = protocolOf(manifest.endpoint) === 'mcp';
  return isMcp ? new McpNodeAdapter(manifest, links) : new NodeAdapter(manifest, links);
}

type Resumed = Pick<CallContext, 'handle' | 'responses'>;

class NodeAdapter implements Adapter {
  protected readonly manifest: Manifest;
  protected readonly links: NodeLinks;
  /** What the agent lists of a capability, as it was confirmed last. */
  readonly #confirmed = new Map<string, Capability>();

  constructor(manifest: Manifest, links: NodeLinks) {
    this.manifest = manifest;
    this.links = links;
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { manifest, links } = this;
    const { signal } = context;
    if (signal.aborted) throw FabricError.from(signal.reason).with({ sent: false });
    let link = await links.linkOf(manifest, { signal, waitMs: links.backSoonMs(manifest) });
    let resumed: Resumed = context;
    let running: AgentHandle | undefined;
    const onRunning = (handle: AgentHandle) => {
      running = handle;
    };
    while (true) {
      try {
        return yield* this.#run(link, envelope, context, resumed, onRunning);
      } catch (thrown) {
        const error = this.#named(thrown, envelope);
        if (link.isOpen || !running || signal.aborted) throw error;
        context.log.info({ agent_id: manifest.agent_id }, 'a call waits for its node to be back');
        link = await links.linkOf(manifest, { signal, waitMs: MAX_REJOIN_MS }).catch(() => {
          throw error;
        });
        resumed = { handle: running };
      }
    }
  }

  async *#run(
    link: NodeLink,
    envelope: Envelope,
    context: CallContext,
    resumed: Resumed,
    onRunning: (handle: AgentHandle) => void,
  ): AsyncIterable<EventBody> {
    let unanswered: FabricError | undefined;
    const onAsk: OpenOptions['onAsk'] = async (method, params, signal) => {
      try {
        return await this.#answer(method, params, signal, envelope, context);
      } catch (error) {
        unanswered = FabricError.from(error);
        // How the call goes on is for its caller, not for the node.
        throw new FabricError(unanswered.code, unanswered.message);
      }
    };
    const params = { ...this.#toParams(envelope, context), ...resumedFields(resumed) };
    const events = link.open('call', params, { signal: context.signal, onAsk });
    try {
      while (true) {
        const { done, value } = await events.next();
        const item = toFields(value);
        if (done) return yield this.#toEvent(item.event, 'final');
        if (item.event !== undefined) yield this.#toEvent(item.event);
        else if (isObject(item.keep)) {
          const isRunning = item.is_running === true;
          if (isRunning) onRunning(item.keep);
          context.keep?.(item.keep, { isRunning });
        } else if (isObject(item.notification)) await this.#notify(item.notification, context);
        else throw this.unusable('an event');
      }
    } catch (thrown) {
      const error = FabricError.from(thrown);
      throw unanswered && unanswered.code === error.code ? unanswered : error;
    } finally {
      await events.return(undefined);
    }
  }

  #toParams(envelope: Envelope, context: CallContext): Fields {
    const { mandate, meta, declared, ask, keep, notify, confirm } = context;
    return {
      agent_id: this.manifest.agent_id,
      envelope,
      mandate,
      meta,
      declared,
      asks: ask !== undefined,
      keeps: keep !== undefined,
      notifies: notify !== undefined,
      confirms: confirm !== undefined,
      confirmed: this.#stillConfirmed(envelope.target.capability, confirm),
    };
  }

  /** Names what the agent listed last, so that the node need not ask while it lists the same. */
  #stillConfirmed(capability: string, confirm: CallContext['confirm']): string | undefined {
    const offered = confirm && this.#confirmed.get(capability);
    if (!offered) return undefined;
    try {
      void confirm(offered);
      return sha256Hex(JSON.stringify(offered));
    } catch {
      // It may list something else by now, which the node asks about.
      this.#confirmed.delete(capability);
      return undefined;
    }
  }

  async #answer(
    method: string,
    params: Fields,
    signal: AbortSignal,
    { target }: Envelope,
    { ask, confirm }: CallContext,
  ): Promise<unknown> {
    if (method === 'confirm' && confirm) {
      const offered = toCapability(params.offered);
      if (!offered) throw this.unusable('a capability');
      await confirm(offered);
      this.#confirmed.set(target.capability, offered);
      return null;
    }
    if (method !== 'ask' || !ask || !Array.isArray(params.requests)) {
      throw this.unusable('a question');
    }
    const handle = isObject(params.handle) ? { handle: params.handle } : { signal };
    return await ask(params.requests as InputRequest[], handle);
  }

  async #notify({ method, params }: Fields, { notify }: CallContext): Promise<void> {
    if (typeof method !== 'string') throw this.unusable('a notification');
    await notify?.({ method, ...(isObject(params) && { params }) });
  }

  #toEvent(value: unknown, type?: 'final'): EventBody {
    const { data } = eventBodySchema.safeParse(value);
    if (data && (type === undefined || data.type === type)) return data;
    throw this.unusable('an event');
  }

  async health({ signal }: CallContext): Promise<Health> {
    const checked_at = new Date().toISOString();
    try {
      const { data } = healthSchema.safeParse(await this.ask('health', {}, { signal }));
      if (!data) throw this.unusable('a health');
      const { since: _, ...health } = data;
      // The clock of the node may be wrong.
      return { ...health, checked_at };
    } catch (thrown) {
      const error = FabricError.from(thrown);
      const { reason } = error.details;
      const why = typeof reason === 'string' ? { reason } : {};
      return { status: 'offline', checked_at, ...why, ...toHealthReason(error) };
    }
  }

  async describe({ signal }: CallContext): Promise<AgentDescription> {
    const said = toFields(await this.ask('describe', {}, { signal }));
    if (!Array.isArray(said.capabilities)) throw this.unusable('a description');
    const listed: readonly unknown[] = said.capabilities.slice(0, MAX_CAPABILITIES);
    const texts = ['version', 'description', 'instructions'].flatMap((name) =>
      typeof said[name] === 'string' ? [[name, said[name]]] : [],
    );
    const capabilities = listed.flatMap((one) => toCapability(one) ?? []);
    return { ...Object.fromEntries(texts), capabilities };
  }

  async stop(handle: AgentHandle, { signal }: CallContext): Promise<void> {
    await this.ask('stop', { handle }, { signal });
  }

  /** The connection belongs to the node, and stays. */
  async close(): Promise<void> {}

  /** What the node answers to a request about this agent. */
  protected async ask(
    method: string,
    params: Fields,
    options: Parameters<NodeLink['request']>[2],
  ): Promise<unknown> {
    const link = await this.links.linkOf(this.manifest, options);
    return await link.request(method, { agent_id: this.manifest.agent_id, ...params }, options);
  }

  protected unusable(what: string): FabricError {
    return failure('node_answer', { node_id: this.manifest.node_id, what });
  }

  #named(thrown: unknown, { target: { capability } }: Envelope): FabricError {
    return FabricError.from(thrown).with({ agent_id: this.manifest.agent_id, capability });
  }
}

/** Resources, prompts and lists of an MCP agent, too. */
class McpNodeAdapter extends NodeAdapter implements McpRelay {
  async request(
    method: string,
    params: Fields | undefined,
    { signal, clientCapabilities, onNotification }: Parameters<McpRelay['request']>[2],
  ): Promise<Fields> {
    const asked = { method, params, clientCapabilities, notifies: onNotification !== undefined };
    const onItem = async (item: unknown) => {
      const { notification } = toFields(item);
      if (!isObject(notification) || typeof notification.method !== 'string') {
        throw this.unusable('a notification');
      }
      await onNotification?.({ jsonrpc: '2.0', ...notification, method: notification.method });
    };
    return toFields(await this.ask('mcp', asked, { signal, onItem }));
  }

  async serverCapabilities(options: OpenOptions): Promise<ServerCapabilities> {
    return toFields(await this.ask('mcp_capabilities', {}, options));
  }

  onListChanged(kind: ListKind, listener: () => void): () => void {
    return this.links.onListChanged(this.manifest, (changed) => {
      if (changed === kind) listener();
    });
  }
}

function resumedFields({ handle, responses }: Resumed): Fields {
  return { ...(handle && { handle }), ...(responses && { responses }) };
}

/** A capability as an agent lists it: discovery judges its name. */
function toCapability(value: unknown): Capability | undefined {
  const { name, ...rest } = toFields(value);
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH) return undefined;
  const { data } = capabilitySchema.safeParse({ ...rest, name: 'name' });
  return data && { ...data, name };
}
