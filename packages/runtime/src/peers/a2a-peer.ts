// An A2A agent as a peer. The client of the gateway speaks to it, so streams are joined again, foreign cards and
// addresses are refused, and what comes back is bounded; here a task becomes an envelope, and its events an outcome.

import { a2aOptionsSchema, META_BUDGET } from '@starloom/a2a';
import { A2aClient } from '@starloom/a2a/client';
import {
  type AgentHandle,
  ArtifactFold,
  CLAIM_LOST,
  FabricError,
  type FinalData,
  type InputRequest,
  type InputResponse,
  type Log,
  nextHop,
  parseEnvelope,
  toCapabilityName,
  toMandateHeaders,
} from '@starloom/core';
import { parseHeaders } from '@starloom/mcp-client';
import { createExcerpt, deadlineSignal } from '@starloom/wire';
import type { PeerConfig } from '../config/agent-toml.ts';
import { failure } from '../reasons.ts';
import { rewordFailure } from '../reword-failure.ts';
import type { DelegateOptions, Peer, PeerDescription, PeerOutcome, PeerTask } from './peer.ts';
import type { PeerRecord, PeerTasks } from './peer-tasks.ts';

interface A2aPeerOptions {
  readonly config: PeerConfig;
  readonly tasks: PeerTasks;
  readonly log: Log;
  /** Calls under a mandate show it in place of our own credentials, as the gateway wants it. */
  readonly isMandated?: boolean;
}

const DEFAULT_MS = 600_000;
/** A day at most: the turn has its own limit. */
const MAX_MS = 86_400_000;
const MAX_ABOUT = 200;
const MESSAGE = 'message';
/** What an agent can make use of. */
const ACCEPTED = ['text/plain', 'application/json', '*/*'];

export class A2aPeer implements Peer {
  readonly name: string;
  readonly #options: A2aPeerOptions;
  #client: A2aClient | undefined;

  constructor(options: A2aPeerOptions) {
    this.name = options.config.name;
    this.#options = options;
  }

  /** Asks the peer what it can do. Throws a FabricError when it cannot be reached or understood. */
  async describe(signal: AbortSignal): Promise<PeerDescription> {
    const { skills: allowed } = this.#options.config;
    try {
      const described = await this.#open().describe({ signal, log: this.#options.log });
      const { capabilities, description = '', version = '' } = described;
      const skills = capabilities.map(({ name, tool = name, description: text = '' }) => ({
        id: tool,
        description: text,
      }));
      return {
        description,
        version,
        skills: skills.filter(({ id }) => allowed?.includes(id) ?? true),
      };
    } catch (error) {
      throw this.#reword(error);
    }
  }

  async delegate(given: PeerTask, options: DelegateOptions): Promise<PeerOutcome> {
    const task = { ...given, skill: given.skill ?? this.#onlySkill };
    const run = new Delegation(this.name, task, this.#options.tasks);
    const ms = Math.min(options.deadlineMs ?? DEFAULT_MS, MAX_MS);
    const reason = () => failure('peer_deadline', { peer: this.name, ms });
    using deadline = deadlineSignal({ ms, parent: options.signal, reason });
    using left = leavingSignal(deadline.signal);
    const { mandate } = options;
    const { isMandated, config } = this.#options;
    const isOwn = mandate === undefined || !isMandated;
    try {
      if (task.resume === undefined) this.#assertSkill(task.skill);
      const client = isOwn ? this.#open() : this.#create(toMandateHeaders({ mandate }));
      try {
        return await run.collect(client, left.signal, {
          ...options,
          mandate: config.mandate ? mandate : undefined,
          log: this.#options.log,
        });
      } finally {
        if (!isOwn) await client.close();
      }
    } catch (error) {
      return run.fail(this.#reword(deadline.signal.aborted ? deadline.signal.reason : error));
    }
  }

  async close(): Promise<void> {
    await this.#client?.close();
  }

  #open(): A2aClient {
    this.#client ??= this.#create(this.#options.config.headers);
    return this.#client;
  }

  #create(headers: Readonly<Record<string, string>>): A2aClient {
    const { config, log } = this.#options;
    const { name, card, binding, version, url, origins, allow_private, card_keys } = config;
    const given = Object.entries({ binding, version, url, origins, allow_private, card_keys });
    const set = given.filter(([, value]) => value !== undefined);
    return new A2aClient({
      agentId: name,
      uri: new URL(card),
      headers: parseHeaders(headers),
      options: a2aOptionsSchema.parse({ ...Object.fromEntries(set), push: false }),
      excerpt: createExcerpt({ headers }),
      takesMessages: true,
      accepts: ACCEPTED,
      log,
    });
  }

  get #onlySkill(): string | undefined {
    const [only, ...others] = this.#options.config.skills ?? [];
    return others.length === 0 ? only : undefined;
  }

  #assertSkill(skill: string | undefined): void {
    const { skills } = this.#options.config;
    if (skills === undefined || (skill !== undefined && skills.includes(skill))) return;
    throw failure('skill_not_allowed', { peer: this.name, skill: skill ?? '', skills });
  }

  #reword(thrown: unknown): FabricError {
    const shown = `the peer "${this.name}"`;
    return rewordFailure(FabricError.from(thrown), 'peer', shown, { peer: this.name });
  }
}

type CollectOptions = DelegateOptions & { readonly log: Log };

/** One task at a peer: from its envelope, over what it keeps for later, to its outcome. */
class Delegation {
  readonly #id: string;
  readonly #peer: string;
  readonly #task: PeerTask;
  readonly #tasks: PeerTasks;
  readonly #before: PeerRecord | undefined;
  readonly #made = new ArtifactFold();
  #asked: readonly InputRequest[] | undefined;

  constructor(peer: string, task: PeerTask, tasks: PeerTasks) {
    this.#id = task.resume ?? crypto.randomUUID();
    this.#peer = peer;
    this.#task = task;
    this.#tasks = tasks;
    this.#before = task.resume === undefined ? undefined : tasks.get(task.resume);
  }

  async collect(
    client: A2aClient,
    signal: AbortSignal,
    options: CollectOptions,
  ): Promise<PeerOutcome> {
    const { resume } = this.#task;
    if (resume !== undefined && this.#before?.peer !== this.#peer) {
      throw failure('unknown_peer_task', { task: resume.slice(0, MAX_ABOUT) });
    }
    const { log, mandate, onEvent } = options;
    const responses = this.#responses();
    const events = client.call(this.#envelope(options), {
      signal,
      log,
      mandate,
      ...(this.#before && { handle: this.#before.handle }),
      ...(responses && { responses }),
      keep: (handle, kept) => this.#keep(handle, kept?.isRunning ? 'running' : 'done'),
      ask: async (requests, asked) => {
        this.#asked = requests;
        const questions = requests.map(({ id }) => id);
        if (asked?.handle) this.#keep(asked.handle, 'asking', questions);
        throw failure('peer_asks');
      },
    });
    for await (const event of events) {
      if (event.type === 'final') return this.#complete(event.data);
      if (event.type === 'artifact') this.#made.add(event.data);
      onEvent?.(event);
    }
    throw failure('no_final', { peer: this.#peer });
  }

  /** A question is an outcome of its own; a task that was cancelled or failed cannot be gone on with. */
  fail(error: FabricError): PeerOutcome {
    if (this.#asked) {
      const question = this.#asked.map(({ message }) => message).join('\n');
      return { peer: this.#peer, task: this.#id, status: 'asking', question };
    }
    const isLeft = error.details.reason === 'closing' || error.code === 'AGENT_OFFLINE';
    if (!isLeft) this.#tasks.forget(this.#id);
    return { ...this.#named(), status: 'failed', error };
  }

  /** With its id where it can be gone on with. */
  #named(): Pick<PeerOutcome, 'peer' | 'task'> {
    const isKept = this.#tasks.get(this.#id) !== undefined;
    return { peer: this.#peer, ...(isKept && { task: this.#id }) };
  }

  #envelope({ trace, hop, budget, deadlineMs = DEFAULT_MS }: CollectOptions) {
    const { text, skill = this.#before?.skill } = this.#task;
    const known = Object.entries(budget ?? {}).filter(([, value]) => value !== undefined);
    return parseEnvelope({
      trace,
      auth: { mode: 'none' },
      target: {
        agent_id: this.#peer,
        capability: skill === undefined ? MESSAGE : toCapabilityName(skill),
        timeout_ms: Math.max(1, Math.floor(Math.min(deadlineMs, MAX_MS))),
      },
      input: {
        task: text,
        context: known.length === 0 ? {} : { [META_BUDGET]: Object.fromEntries(known) },
      },
      response: { stream: true },
      hop: nextHop(hop),
    });
  }

  /** `text` answers every open question: a peer that asks in words has one. */
  #responses(): InputResponse[] | undefined {
    if (this.#before?.state !== 'asking') return undefined;
    const content = { text: this.#task.text };
    return (this.#before.questions ?? []).map((id) => ({ id, action: 'accept', content }));
  }

  #keep(handle: AgentHandle, state: PeerRecord['state'], questions?: string[]): void {
    const { text, skill } = this.#task;
    this.#tasks.keep({
      id: this.#id,
      peer: this.#peer,
      state,
      about: this.#before?.about ?? text.slice(0, MAX_ABOUT),
      at: Date.now(),
      handle,
      ...(skill !== undefined && { skill }),
      ...(questions && { questions }),
    });
  }

  #complete({ answer, data }: FinalData): PeerOutcome {
    const made = this.#made.artifacts() ?? [];
    // What the peer answers with comes as an artifact, too: the text is not said twice.
    const artifacts = made.filter(({ text }) => text === undefined || !answer.includes(text));
    const more = data !== undefined && { data };
    return { ...this.#named(), status: 'completed', text: answer, ...more, artifacts };
  }
}

const LEFT_RUNNING = new FabricError('CANCELLED', 'The task goes on at its peer', {
  details: { reason: CLAIM_LOST },
});

/** When the agent closes, the task goes on at its peer, and is joined again after the next start. */
function leavingSignal(parent: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const control = new AbortController();
  const follow = () => {
    const error = FabricError.from(parent.reason);
    const isClosing = error.details.reason === 'closing';
    control.abort(isClosing ? LEFT_RUNNING : error);
  };
  if (parent.aborted) follow();
  else parent.addEventListener('abort', follow, { once: true });
  return {
    signal: control.signal,
    [Symbol.dispose]: () => parent.removeEventListener('abort', follow),
  };
}
