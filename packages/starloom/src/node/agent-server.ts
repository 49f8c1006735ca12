// What a node does with the streams of its gateways: each is about one of its agents, and is served by the
// adapter of that agent. Nothing is kept of a call here beyond the stream.

import { isMcpRelay } from '@starloom/adapters';
import {
  type Adapter,
  type AgentHandle,
  type AgentRecord,
  type CallContext,
  type Capability,
  CLAIM_LOST,
  FabricError,
  type Fields,
  type InputResponse,
  isObject,
  type Log,
  type Manifest,
  parseEnvelope,
  protocolOf,
  type Registry,
  sha256Hex,
  toFields,
} from '@starloom/core';
import type { AdapterPool } from '@starloom/gateway';
import type { ServedStream } from '@starloom/wire/node-link';
import { failure } from '../reasons.ts';

interface AgentServerOptions {
  readonly nodeId: string;
  readonly registry: Registry;
  readonly adapters: AdapterPool;
  readonly log: Log;
}

export class AgentServer {
  readonly #options: AgentServerOptions;
  #calls = 0;

  constructor(options: AgentServerOptions) {
    this.#options = options;
  }

  get calls(): number {
    return this.#calls;
  }

  /** The agents of this node, as gateways learn of them: how they are reached stays here. */
  offers(): Fields[] {
    const records = this.#options.registry.list();
    const manifests = records.flatMap((record) => this.#ownOf(record) ?? []);
    return manifests.map(({ node_id: _, endpoint, ...manifest }) => ({
      ...manifest,
      endpoint: { protocol: protocolOf(endpoint) },
    }));
  }

  readonly serve = async (stream: ServedStream): Promise<unknown> => {
    if (stream.method !== 'call') return await this.#serve(stream);
    this.#calls += 1;
    try {
      return await this.#serve(stream);
    } finally {
      this.#calls -= 1;
    }
  };

  async #serve(stream: ServedStream): Promise<unknown> {
    const { method, params, signal } = stream;
    const agentId = String(params.agent_id);
    const record = this.#options.registry.get(agentId);
    const manifest = record && this.#ownOf(record);
    if (!manifest) throw failure('not_on_node', { agent_id: agentId });
    const { adapters } = this.#options;
    const log = this.#options.log.child({ agent_id: agentId });
    if (method === 'health') {
      using probe = await adapters.probe(manifest);
      return await probe.adapter.health({ signal, log });
    }
    using lease = await adapters.lease(manifest);
    const { adapter } = lease;
    switch (method) {
      case 'call':
        return await call(stream, adapter, log);
      case 'describe':
        return await adapter.describe({ signal, log });
      case 'stop':
        return await adapter.stop?.(toFields(params.handle), { signal, log });
      case 'mcp':
        return await relay(stream, adapter);
      case 'mcp_capabilities':
        return isMcpRelay(adapter) ? await adapter.serverCapabilities({ signal }) : {};
      default:
        throw failure('node_request', { method });
    }
  }

  /** The entry for this node, else the one for no node. */
  #ownOf({ instances }: AgentRecord): Manifest | undefined {
    const own = instances.map(({ manifest }) => manifest);
    const named = (id: string) =>
      own.find(({ node_id, endpoint }) => node_id === id && endpoint.transport !== 'node');
    return named(this.#options.nodeId) ?? named('local');
  }
}

async function call(stream: ServedStream, adapter: Adapter, log: Log): Promise<unknown> {
  const envelope = readEnvelope(stream.params.envelope);
  const { trace_id } = envelope.trace;
  const context = new NodeCall(stream, log.child({ trace_id }));
  for await (const event of adapter.call(envelope, context)) {
    await context.written;
    if (event.type === 'final') return { event };
    await stream.send({ event });
  }
  throw failure('no_final');
}

/** The context that an adapter receives. Questions, handles and notifications go on to the gateway. */
class NodeCall implements CallContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly mandate: string | undefined;
  readonly handle: AgentHandle | undefined;
  readonly responses: readonly InputResponse[] | undefined;
  readonly meta: Fields | undefined;
  readonly declared: Fields | undefined;
  readonly ask: CallContext['ask'];
  readonly keep: CallContext['keep'];
  readonly notify: CallContext['notify'];
  readonly confirm: CallContext['confirm'];
  /** What was kept is with the gateway before the event that follows it. */
  written: Promise<void> = Promise.resolve();
  #isRunning = false;

  constructor(stream: ServedStream, log: Log) {
    const { params } = stream;
    this.log = log;
    this.signal = this.#follow(stream);
    this.mandate = typeof params.mandate === 'string' ? params.mandate : undefined;
    this.handle = isObject(params.handle) ? params.handle : undefined;
    this.responses = Array.isArray(params.responses) ? params.responses : undefined;
    this.meta = isObject(params.meta) ? params.meta : undefined;
    this.declared = isObject(params.declared) ? params.declared : undefined;
    if (params.asks) {
      this.ask = async (requests, { handle, signal } = {}) =>
        (await stream.ask('ask', { requests, handle }, signal)) as InputResponse[];
    }
    if (params.keeps) this.keep = (handle, how) => this.#keep(stream, handle, how?.isRunning);
    if (params.notifies) this.notify = (notification) => stream.send({ notification });
    if (params.confirms) this.confirm = (offered) => confirm(stream, offered);
  }

  #keep(stream: ServedStream, keep: AgentHandle, is_running = false): void {
    this.#isRunning ||= is_running;
    const sent = this.written.then(() => stream.send({ keep, is_running }));
    this.written = sent;
    // The call ends with the stream; its own loop sees that.
    sent.catch(() => {});
  }

  /** What runs at the agent is left running when the gateway is lost: it may join it again. */
  #follow(stream: ServedStream): AbortSignal {
    const stop = new AbortController();
    stream.signal.addEventListener('abort', () => {
      const details = { reason: CLAIM_LOST };
      const left = new FabricError('AGENT_OFFLINE', 'The gateway is gone', { details });
      stop.abort(stream.isCut && this.#isRunning ? left : stream.signal.reason);
    });
    return stop.signal;
  }
}

/** At once when it is what the gateway confirmed last. */
function confirm(stream: ServedStream, offered: Capability): Promise<void> | undefined {
  if (stream.params.confirmed === sha256Hex(JSON.stringify(offered))) return undefined;
  return stream.ask('confirm', { offered }).then(() => {});
}

async function relay(stream: ServedStream, adapter: Adapter): Promise<unknown> {
  const { params: asked, signal } = stream;
  if (!isMcpRelay(adapter)) throw failure('node_request', { method: 'mcp' });
  const { method, params, clientCapabilities, notifies } = asked;
  return await adapter.request(String(method), isObject(params) ? params : undefined, {
    signal,
    ...(isObject(clientCapabilities) && { clientCapabilities }),
    ...(notifies === true && { onNotification: (notification) => stream.send({ notification }) }),
  });
}

function readEnvelope(value: unknown) {
  try {
    return parseEnvelope(value);
  } catch (cause) {
    throw failure('node_request', { method: 'call' }, { cause });
  }
}
