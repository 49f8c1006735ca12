// Agents that speak A2A, 1.0 or 0.3, over JSON-RPC, REST or gRPC. The card says which; it is fetched
// when first needed, and again with every check of the agent's health.

import { setTimeout as delay } from 'node:timers/promises';
import { AgentCard } from '@a2a-js/sdk';
import {
  type Adapter,
  type AgentDescription,
  type AgentHandle,
  assertWanted,
  type CallContext,
  type Capability,
  type Envelope,
  type EventBody,
  FabricError,
  findCapability,
  type Health,
  type Log,
  toHealthReason,
} from '@starloom/core';
import { cleanText, deadlineSignal, type Excerpt, settlesWithin } from '@starloom/wire';
import { takes } from '../modes.ts';
import { failure } from '../reasons.ts';
import { type CardView, MESSAGE, parseAgentCard, skillOf, toCapabilities } from './agent-card.ts';
import { type A2aTarget, AgentLink, mayHaveMoved } from './agent-link.ts';
import type { A2aConnection } from './connection.ts';
import { toFailure } from './failure.ts';
import { parseHandle } from './questions.ts';
import { TaskRun } from './task-run.ts';

const MAX_DESCRIPTION = 4_000;
/** How long an agent is waited for that may still run the task of an interrupted call. */
const JOIN_MS = 60_000;
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 2_000;
/** Longer than telling the agent to cancel takes at most. */
const CLOSE_MS = 8_000;

interface A2aClientOptions extends A2aTarget {
  /** Those that may be called; default: the skills of the card. */
  readonly capabilities?: readonly Capability[] | undefined;
  /** Media types that are taken as an answer; with it, attachments must be of a type that the skill takes. */
  readonly accepts?: readonly string[] | undefined;
  /** Takes calls of `message`, which leave it to the agent which skill is meant. */
  readonly takesMessages?: boolean;
  readonly log: Log;
}

/** Connects when first needed. */
export class A2aClient implements Adapter {
  readonly #client: A2aClientOptions;
  readonly #excerpt: Excerpt;
  readonly #link: AgentLink;
  readonly #runs = new Set<TaskRun>();
  readonly #afterwards = new Set<Promise<unknown>>();

  constructor(options: A2aClientOptions) {
    this.#client = options;
    this.#excerpt = options.excerpt;
    this.#link = new AgentLink(options);
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    assertWanted(context.signal);
    const { agentId: agent_id, options, accepts } = this.#client;
    const { capability } = envelope.target;
    try {
      using lease = await this.#connectFor(context);
      const { connection } = lease;
      const skill = this.#assertSkill(connection.card, capability);
      if (accepts) assertTaken(connection.card, skill, envelope.input.attachments);
      const run = new TaskRun({
        connection,
        envelope,
        context,
        skill,
        accepts: accepts ?? [],
        excerpt: this.#excerpt,
        options,
        afterwards: (work) => this.#await(work),
      });
      this.#runs.add(run);
      using _ = { [Symbol.dispose]: () => this.#runs.delete(run) };
      yield* run.events();
    } catch (error) {
      const failure = toFailure(error, this.#excerpt).with({ agent_id, capability });
      if (mayHaveMoved(failure)) this.#link.invalidate();
      throw failure;
    }
  }

  async stop(handle: AgentHandle, { signal }: CallContext): Promise<void> {
    const { taskId } = parseHandle(handle);
    if (taskId === undefined) return;
    try {
      using lease = await this.#connect(signal);
      await lease.connection.cancel(taskId, { headers: {}, signal });
    } catch (error) {
      const failure = toFailure(error, this.#excerpt);
      const isOver = ['unknown_task', 'not_cancelable'].includes(String(failure.details.reason));
      if (!isOver) throw failure.with({ agent_id: this.#client.agentId });
    }
  }

  async health({ signal: parent }: CallContext): Promise<Health> {
    const started = performance.now();
    const checked_at = new Date().toISOString();
    using deadline = deadlineSignal({ ms: this.#client.options.card_timeout_ms, parent });
    try {
      await this.#link.refresh(deadline.signal);
      return { status: 'online', checked_at, latency_ms: performance.now() - started };
    } catch (error) {
      if (FabricError.is(parent.reason) && parent.reason.code === 'CANCELLED') throw parent.reason;
      const failure = toFailure(error, this.#excerpt);
      const isThere = !['AGENT_OFFLINE', 'TIMEOUT'].includes(failure.code);
      const status = isThere ? 'degraded' : 'offline';
      return { status, checked_at, ...toHealthReason(failure) };
    }
  }

  async describe({ signal }: CallContext): Promise<AgentDescription> {
    try {
      const connection = await this.#link.refresh(signal);
      const card = await this.#fullCard(connection, signal);
      const description = cleanText(card.description, MAX_DESCRIPTION);
      return {
        capabilities: toCapabilities(card),
        ...(card.version !== '' && { version: card.version.slice(0, 64) }),
        ...(description && { description }),
      };
    } catch (error) {
      throw toFailure(error, this.#excerpt).with({ agent_id: this.#client.agentId });
    }
  }

  async close(): Promise<void> {
    this.#link.end();
    for (const run of this.#runs) run.end(this.#link.closed.reason);
    await settlesWithin(Promise.allSettled(this.#afterwards), CLOSE_MS);
    await this.#link.free();
  }

  /** A task that may still run is worth a wait: gateway and agent may restart together. */
  async #connectFor({ signal, handle, responses }: CallContext) {
    const isJoining = parseHandle(handle).taskId !== undefined && responses === undefined;
    const until = performance.now() + (isJoining ? JOIN_MS : 0);
    for (let ms = FIRST_WAIT_MS; ; ms = Math.min(2 * ms, MAX_WAIT_MS)) {
      try {
        return await this.#connect(signal);
      } catch (error) {
        const { code, details } = FabricError.from(error);
        const mayCome = code === 'AGENT_OFFLINE' && details.reason !== 'closed';
        if (!mayCome || performance.now() + ms > until) throw error;
        await delay(ms, undefined, { signal }).catch(() => assertWanted(signal));
      }
    }
  }

  async #connect(signal: AbortSignal) {
    try {
      return await this.#link.acquire(signal);
    } catch (error) {
      throw FabricError.from(error).with({ sent: false });
    }
  }

  /** The id of the skill; CAPABILITY_NOT_FOUND when manifest or card does not have it. */
  #assertSkill(card: CardView, name: string): string {
    const { capabilities: declared } = this.#client;
    const capability = findCapability({ capabilities: declared ?? toCapabilities(card) }, name);
    const skill = capability && skillOf(card, capability.tool ?? capability.name);
    if (skill !== undefined) return skill;
    if (this.#client.takesMessages && name === MESSAGE) return '';
    const known = toCapabilities(card).map(({ name: each }) => each);
    throw failure('unknown_capability', { capability: name, known });
  }

  /** With the skills that only authenticated clients see; those of a signed card stay as signed. */
  async #fullCard(connection: A2aConnection, signal: AbortSignal): Promise<CardView> {
    const { card } = connection;
    const isAnonymous = Object.keys(this.#client.headers).length === 0;
    if (!card.extended || isAnonymous || this.#client.options.card_keys) return card;
    try {
      const extended = await connection.extendedCard({ headers: {}, signal });
      return { ...parseAgentCard(AgentCard.toJSON(extended)), interfaces: card.interfaces };
    } catch (error) {
      this.#client.log.debug({ error: toFailure(error, this.#excerpt) }, 'no extended agent card');
      return card;
    }
  }

  #await(work: Promise<unknown>): void {
    const settled = work.catch(() => {}).finally(() => this.#afterwards.delete(settled));
    this.#afterwards.add(settled);
  }
}

/** Refuses, before anything is sent, a file of a type that the skill does not take. */
function assertTaken({ skills }: CardView, id: string, files: Envelope['input']['attachments']) {
  const { inputModes = [] } = skills.find((skill) => skill.id === id) ?? skills[0] ?? {};
  const odd = files.find(({ media_type }) => !takes(inputModes, media_type));
  if (!odd || inputModes.length === 0) return;
  const { media_type } = odd;
  throw failure('content_type/unsupported', { media_type, modes: inputModes, sent: false });
}
