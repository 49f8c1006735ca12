import { type Clock, orAborted } from '../clock.ts';
import { type Envelope, type EnvelopeInput, parseEnvelope } from '../envelope.ts';
import { FabricError } from '../errors.ts';
import type { EventBody } from '../events.ts';
import type { Health } from '../health.ts';
import { type Manifest, type ManifestInput, manifestSchema } from '../manifest.ts';
import { findCapability } from '../names.ts';
import type { Adapter, AgentDescription, CallContext } from '../ports/adapter.ts';
import { createTrace } from '../trace.ts';

export type MemoryAgent = (
  envelope: Envelope,
  signal: AbortSignal,
  context: CallContext,
) => AsyncIterable<EventBody>;

/** An agent that is a function of this process. */
export class MemoryAdapter implements Adapter {
  readonly #agent: MemoryAgent;
  readonly #describe: () => Promise<AgentDescription>;
  readonly #closed = new AbortController();

  constructor(manifest: Manifest, agent: MemoryAgent, describe?: () => Promise<AgentDescription>) {
    const { version, capabilities = [] } = manifest;
    this.#agent = agent;
    this.#describe = describe ?? (async () => ({ version, capabilities }));
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { signal } = context;
    const { capability } = envelope.target;
    if (this.#closed.signal.aborted) throw offline({ sent: false });
    signal.throwIfAborted();
    const offered = findCapability(await this.#describe(), capability);
    if (offered) await context.confirm?.(offered);
    else {
      const details = { capability, sent: false };
      throw new FabricError('CAPABILITY_NOT_FOUND', `No capability "${capability}"`, { details });
    }
    const stop = new AbortController();
    const either = AbortSignal.any([signal, this.#closed.signal]);
    const onAbort = () => stop.abort(either.reason);
    either.addEventListener('abort', onAbort, { once: true });
    const events = this.#agent(envelope, stop.signal, context)[Symbol.asyncIterator]();
    try {
      while (true) {
        const next = await orAborted(events.next(), either);
        if (next.done) return;
        yield next.value;
      }
    } finally {
      either.removeEventListener('abort', onAbort);
      stop.abort(new FabricError('CANCELLED', 'The caller stopped reading the answer'));
    }
  }

  async health(): Promise<Health> {
    const status = this.#closed.signal.aborted ? 'offline' : 'online';
    return { status, checked_at: new Date().toISOString() };
  }

  async describe(): Promise<AgentDescription> {
    if (this.#closed.signal.aborted) throw offline({ sent: false });
    return await this.#describe();
  }

  async close(): Promise<void> {
    this.#closed.abort(offline({}));
  }
}

function offline(details: Record<string, unknown>): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The agent is gone', { details });
}

/** A clock that stands still until a test advances it. */
export class ManualClock implements Clock {
  #now: number;
  #monotonic = 0;

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  advance(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
  }
}

/** A valid manifest to start from. */
export function exampleManifest(change: Partial<ManifestInput> = {}): Manifest {
  return manifestSchema.parse({
    agent_id: 'subject',
    endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/agent' },
    capabilities: [{ name: 'work', streaming: true }],
    trust_tier: 'org',
    ...change,
  });
}

/** A valid envelope for `task` to start from. */
export function exampleEnvelope(task: string, change: Partial<EnvelopeInput> = {}): Envelope {
  return parseEnvelope({
    trace: createTrace(),
    auth: { mode: 'none' },
    target: { agent_id: 'subject', capability: 'work' },
    input: { task },
    response: { stream: true },
    hop: { depth: 1, chain: ['subject/work'] },
    ...change,
  });
}
