// The one stream of a page. Sources are watched while at least one page listens, and each line goes to the
// pages whose person may see what it is about.

import { TOPICS, type Topic } from '@starloom/console/api-types';
import { FabricError, type JournalCall } from '@starloom/core';
import { mayReach } from '@starloom/identity';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import { watchSessions } from './agent-sessions.ts';
import { agentsOf, toAgentRow } from './agents.ts';
import type { CallFacts } from './call-facts.ts';
import { callIdOf, toCallRow } from './call-rows.ts';
import type { ConsoleParts } from './console.ts';
import { countInbox } from './inbox.ts';
import { JobWatch } from './job-watch.ts';
import { PageStream } from './page-stream.ts';
import { type ConsoleRequest, ownerOf, parseQuery } from './request.ts';
import type { ConsoleSessions } from './sessions.ts';
import { STREAM_HEADERS } from './try.ts';

const BEAT_MS = 10_000;
const MAX_STREAMS_PER_SESSION = 16;
/** Agents that change at once and are still announced one by one. */
const MAX_AGENT_LINES = 50;

const querySchema = z.strictObject({
  topics: z
    .string()
    .default('calls,agents,jobs,inbox')
    .transform((text) => TOPICS.filter((topic) => text.split(',').includes(topic))),
  trace: z.string().max(256).optional(),
  session: z.string().max(256).optional(),
});

export class EventStreams {
  readonly #parts: ConsoleParts;
  readonly #sessions: ConsoleSessions;
  readonly #facts: CallFacts | undefined;
  readonly #streams = new Set<PageStream>();
  readonly #jobs: JobWatch;
  #stop: (() => void)[] = [];

  constructor(parts: ConsoleParts, sessions: ConsoleSessions, facts: CallFacts | undefined) {
    this.#parts = parts;
    this.#sessions = sessions;
    this.#facts = facts;
    this.#jobs = new JobWatch(parts, this.#streams);
  }

  open(request: ConsoleRequest): undefined {
    const { exchange, session, principal } = request;
    const { topics, trace, session: agentSession } = parseQuery(querySchema, request);
    const own = [...this.#streams].filter(({ options }) => options.sessionId === session.id);
    if (own.length >= MAX_STREAMS_PER_SESSION) {
      throw failure('console_streams', { limit: MAX_STREAMS_PER_SESSION });
    }
    exchange.detach();
    const { response } = exchange;
    response.writeHead(200, STREAM_HEADERS);
    const options = { sessionId: session.id, principal, topics, trace, agentSession };
    const stream = new PageStream(response, options);
    this.#streams.add(stream);
    stream.onClose(() => this.#remove(stream));
    stream.onClose(watchSessions(this.#parts, stream));
    stream.onClose(this.#tap(stream));
    if (this.#streams.size === 1) this.#start();
    stream.beat({ type: 'hello', at: new Date().toISOString(), topics });
    this.#greet(stream).catch((thrown: unknown) => {
      const error = FabricError.from(thrown);
      this.#parts.pipeline.deps.log.debug({ error }, 'the console could not read jobs');
    });
    return undefined;
  }

  close(): void {
    for (const stream of [...this.#streams]) stream.end('closing');
    this.#halt();
  }

  async #greet(stream: PageStream): Promise<void> {
    await this.#jobs.compare(stream);
    if (!stream.wants('inbox')) return;
    const count = await countInbox(this.#parts, stream.options.principal);
    stream.send('inbox', 'inbox', { type: 'inbox', count });
  }

  #remove(stream: PageStream): void {
    this.#streams.delete(stream);
    if (this.#streams.size === 0) this.#halt();
  }

  #start(): void {
    const { registry, authenticator } = this.#parts.gateway;
    const beating = setInterval(() => this.#beat(), BEAT_MS).unref();
    const check = () => this.#endClosed();
    this.#stop = [
      () => clearInterval(beating),
      this.#sessions.onChange(check),
      authenticator.onChange?.(check) ?? (() => {}),
      registry.watch(({ agentIds }) => this.#agentsChanged(agentIds)),
      this.#jobs.start(),
      this.#facts?.onCall((call) => this.#callChanged(call)) ?? (() => {}),
    ];
  }

  #halt(): void {
    for (const stop of this.#stop.splice(0)) stop();
  }

  #beat(): void {
    this.#endClosed();
    const at = new Date().toISOString();
    for (const stream of this.#streams) {
      const owner = ownerOf(stream.options.principal, 'calls');
      stream.beat({ type: 'beat', at, running: this.#facts?.running(owner) ?? 0 });
    }
  }

  #endClosed(): void {
    for (const stream of [...this.#streams]) {
      if (!this.#sessions.isOpen(stream.options.sessionId)) stream.end('signed_out');
    }
  }

  /** Events of the trace that the page shows; of calls of others only that there was one. */
  #tap(stream: PageStream): () => void {
    const { trace: trace_id, principal } = stream.options;
    if (trace_id === undefined || !stream.wants('trace')) return () => {};
    const isAll = ownerOf(principal, 'calls') === undefined;
    let seq = 0;
    return this.#parts.pipeline.deps.taps.tap(trace_id, ({ trace, principalId, event }) => {
      const isOwn = principalId === principal.id;
      if (!isOwn && !isAll) return;
      seq += 1;
      const { data, ...bare } = event;
      const shown = { ...bare, seq, ...(isOwn && { data: data as Record<string, unknown> }) };
      const call_id = callIdOf(trace);
      stream.send('trace', `event ${seq}`, { type: 'event', trace_id, call_id, event: shown });
    });
  }

  /** A page that looks at one trace hears of its calls alone. */
  #callChanged(call: JournalCall): void {
    const row = toCallRow(call);
    for (const stream of this.#streams) {
      const { principal, trace } = stream.options;
      const owner = ownerOf(principal, 'calls');
      if (owner !== undefined && call.principal !== owner) continue;
      const line = { type: 'call', call: row } as const;
      if (trace === call.trace_id) stream.send('trace', `call ${row.call_id}`, line);
      else stream.send('calls', `call ${row.call_id}`, line);
    }
  }

  #agentsChanged(agentIds: readonly string[]): void {
    const topic: Topic = 'agents';
    for (const stream of this.#streams) {
      if (!stream.wants(topic)) continue;
      if (agentIds.length > MAX_AGENT_LINES) {
        stream.reload(topic);
        continue;
      }
      for (const agent_id of agentIds) {
        const { principal } = stream.options;
        const record = agentsOf(this.#parts, principal).get(agent_id);
        const isGone = this.#parts.gateway.registry.get(agent_id) === undefined;
        // Of one that is gone, scopes alone can say who knew it.
        if (!record && (!isGone || !mayReach(principal, agent_id))) continue;
        const agent = record && toAgentRow(this.#parts, record);
        stream.send(topic, `agent ${agent_id}`, {
          type: 'agent',
          agent_id,
          ...(agent && { agent }),
        });
      }
    }
  }
}
