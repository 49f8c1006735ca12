// What each agent serves. A manifest without `capabilities` serves everything the agent says it
// offers; one with the key serves exactly those, completed by what the agent says of them. Agents are
// asked when they appear, when they come online, and when they say that their list changed. Answers
// are kept across restarts, so that a slow agent's tools are listed at once.

import {
  type AgentDescription,
  type AgentRecord,
  type Capability,
  FabricError,
  findCapability,
  type Log,
  type Manifest,
  matchesGlob,
  orAborted,
  type Registry,
} from '@starloom/core';
import type { Authoriser, Principal } from '@starloom/identity';
import { closestWord, deadlineSignal, settlesWithin } from '@starloom/wire';
import type { AdapterPool } from './adapter-pool.ts';
import type { DiscoveredCapabilities } from './discovered-file.ts';

export interface DiscoveryOptions {
  readonly registry: Registry;
  readonly authoriser: Authoriser;
  readonly adapters: AdapterPool;
  readonly log: Log;
  /** What agents said in earlier runs. */
  readonly store?: DiscoveredCapabilities | undefined;
  readonly askMs?: number;
  readonly atOnce?: number;
}

/** A declared capability that the agent does not offer. */
export interface MissingCapability {
  readonly name: string;
  /** What may have been meant. */
  readonly near?: string;
}

const ASK_MS = 90_000;
const TOOL_WAIT_MS = 30_000;
/** How long after agents appear lists wait for what they offer. */
const LIST_WAIT_MS = 5_000;
const AT_ONCE = 8;

export class Discovery {
  readonly #options: DiscoveryOptions;
  /** Agents that answered in this run, with what they lack. */
  readonly #answered = new WeakMap<Manifest, readonly MissingCapability[]>();
  readonly #restored = new WeakSet<Manifest>();
  readonly #failures = new WeakMap<Manifest, FabricError>();
  readonly #asking = new Map<Manifest, Promise<void>>();
  /** Asked again while an answer was on its way. */
  readonly #again = new Set<Manifest>();
  readonly #waiting: (() => void)[] = [];
  readonly #stop = new AbortController();
  readonly #unwatch: () => void;
  #running = 0;
  /** On the monotonic clock. */
  #listsWaitUntil = 0;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#unwatch = options.registry.watch(({ kind, agentIds }) => {
      if (kind === 'agents') this.#appeared(agentIds);
      else if (kind === 'health') for (const agentId of agentIds) this.#askIfOnline(agentId);
    });
  }

  start(): void {
    this.#appeared(this.#options.registry.list().map(({ manifest }) => manifest.agent_id));
  }

  close(): void {
    this.#unwatch();
    this.#stop.abort(new FabricError('CANCELLED', 'The gateway is shutting down'));
  }

  /** Whether what the agent serves is known: declared, discovered now, or in an earlier run. */
  isKnown(manifest: Manifest): boolean {
    return (
      manifest.capabilities !== undefined ||
      this.#answered.has(manifest) ||
      this.#restored.has(manifest)
    );
  }

  /** Whether all is known that a list shows: no tool is listed with a made-up schema. */
  isListed(manifest: Manifest, { name, input_schema }: Capability): boolean {
    if (input_schema) return true;
    return this.#answered.get(manifest)?.every((missing) => missing.name !== name) ?? false;
  }

  missingOf(manifest: Manifest): readonly MissingCapability[] {
    return this.#answered.get(manifest) ?? [];
  }

  /**
   * What a call must wait for: the first answer of the agent it names, or of all agents when it
   * names a capability that no agent is known to offer. `undefined` when there is nothing to wait for.
   */
  awaitFor(
    { agentId, capability }: { readonly agentId?: string | undefined; readonly capability: string },
    signal: AbortSignal,
    waitMs: number,
  ): Promise<void> | undefined {
    const { registry } = this.#options;
    if (agentId !== undefined) {
      const record = registry.get(agentId);
      if (!record || this.isKnown(record.manifest)) return undefined;
      return this.ready(record, signal, waitMs);
    }
    if (registry.findByCapability(capability).length > 0) return undefined;
    const unknown = registry.list().filter(({ manifest }) => !this.isKnown(manifest));
    if (unknown.length === 0) return undefined;
    const ready = unknown.map((record) => this.ready(record, signal, waitMs).catch(() => {}));
    return Promise.all(ready).then(() => signal.throwIfAborted());
  }

  /** Resolves when the agent said what it offers; AGENT_OFFLINE with the reason when it does not. */
  async ready({ manifest }: AgentRecord, signal: AbortSignal, waitMs: number): Promise<void> {
    using deadline = deadlineSignal({ ms: waitMs, parent: signal });
    await orAborted(this.#ask(manifest), deadline.signal).catch(() => signal.throwIfAborted());
    if (!this.isKnown(manifest)) throw notReached(manifest, this.#failures.get(manifest));
  }

  /** Asks the agent unless it answered before; resolves also when it does not answer in time. */
  async tryReady(manifest: Manifest, waitMs: number): Promise<void> {
    if (!this.#answered.has(manifest)) await settlesWithin(this.#ask(manifest), waitMs);
  }

  /** Clients that list once, right after they connect, get agents that are just being asked. */
  async firstAnswers(): Promise<void> {
    const waitMs = this.#listsWaitUntil - performance.now();
    if (waitMs <= 0) return;
    const pending = [...this.#asking].filter(([manifest]) => !this.#failures.has(manifest));
    if (pending.length > 0)
      await settlesWithin(Promise.all(pending.map(([, asked]) => asked)), waitMs);
  }

  /** The tool, once an agent that the name may belong to has said what it offers. */
  async awaitTool<Found>(
    name: string,
    find: () => Found | undefined,
    principal: Principal,
    signal: AbortSignal,
  ): Promise<Found | undefined> {
    const { registry, authoriser } = this.#options;
    const owner = registry.list().find(({ manifest }) => {
      const { agent_id } = manifest;
      const isNamed = name.startsWith(`${agent_id}.`) || name.startsWith(`${agent_id}_`);
      return isNamed && !this.isKnown(manifest) && authoriser.mayReach(principal, manifest);
    });
    if (owner) await this.ready(owner, signal, TOOL_WAIT_MS);
    return owner && find();
  }

  /** Asks again; an answer that is on its way may be older than the reason to ask. */
  async refresh(agentId: string): Promise<void> {
    const manifest = this.#options.registry.get(agentId)?.manifest;
    if (!manifest) return;
    if (this.#asking.has(manifest)) this.#again.add(manifest);
    await this.#ask(manifest);
  }

  #appeared(agentIds: readonly string[]): void {
    const { registry, store } = this.#options;
    this.#listsWaitUntil = performance.now() + LIST_WAIT_MS;
    for (const agentId of agentIds) {
      const manifest = registry.get(agentId)?.manifest;
      if (!manifest) {
        store?.forget(agentId);
        continue;
      }
      const known = store?.get(manifest);
      if (known && !this.#answered.has(manifest)) {
        this.#restored.add(manifest);
        registry.updateCapabilities(agentId, serve(manifest, { capabilities: known }).capabilities);
      }
      if (!this.#answered.has(manifest)) void this.#ask(manifest);
    }
  }

  #askIfOnline(agentId: string): void {
    const record = this.#options.registry.get(agentId);
    if (record?.health.status !== 'online' || this.#answered.has(record.manifest)) return;
    void this.#ask(record.manifest);
  }

  #ask(manifest: Manifest): Promise<void> {
    const known = this.#asking.get(manifest);
    if (known) return known;
    const asking = this.#inTurn(() => this.#fetch(manifest)).finally(() => {
      this.#asking.delete(manifest);
      if (this.#again.delete(manifest)) void this.#ask(manifest);
    });
    this.#asking.set(manifest, asking);
    return asking;
  }

  /** A fleet that appears at once is asked a few agents at a time. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    if (this.#running >= (this.#options.atOnce ?? AT_ONCE)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
    try {
      await work();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #fetch(manifest: Manifest): Promise<void> {
    const { adapters, log, registry, store, askMs = ASK_MS } = this.#options;
    const { agent_id } = manifest;
    if (this.#stop.signal.aborted || registry.get(agent_id)?.manifest !== manifest) return;
    using deadline = deadlineSignal({ ms: askMs, parent: this.#stop.signal });
    try {
      using lease = await adapters.lease(manifest);
      const { signal } = deadline;
      const description = await orAborted(lease.adapter.describe({ signal, log }), signal);
      if (registry.get(agent_id)?.manifest !== manifest) return;
      const { capabilities, missing } = serve(manifest, description);
      const before = this.#answered.get(manifest);
      this.#answered.set(manifest, missing);
      this.#failures.delete(manifest);
      store?.set(manifest, description.capabilities);
      if (!before && capabilities.length === 0) warnOfNone(manifest, log);
      if (before?.length !== missing.length) warnOfMissing(agent_id, missing, log);
      registry.updateCapabilities(agent_id, capabilities);
    } catch (thrown) {
      const error = FabricError.from(thrown);
      this.#failures.set(manifest, error);
      if (error.code !== 'CANCELLED') log.debug({ agent_id, error }, 'agent not discovered');
    }
  }
}

interface Served {
  readonly capabilities: readonly Capability[];
  readonly missing: readonly MissingCapability[];
}

function serve(manifest: Manifest, { capabilities: offered }: AgentDescription): Served {
  const { capabilities: declared, tools } = manifest;
  const isServed = ({ name }: Capability) => {
    const matches = (glob: string) => matchesGlob(glob, name);
    return (tools?.include?.some(matches) ?? true) && !tools?.exclude?.some(matches);
  };
  if (declared === undefined) return { capabilities: offered.filter(isServed), missing: [] };
  const missing: MissingCapability[] = [];
  const capabilities = declared.filter(isServed).map((named) => {
    const own = findOffered(named, offered);
    if (own) return completed(named, own);
    const names = offered.map(({ name }) => name);
    const near = closestWord(named.tool ?? named.name, names);
    missing.push({ name: named.name, ...(near !== undefined && { near }) });
    return named;
  });
  return { capabilities, missing };
}

/** An agent may list `fs:read_file` as `fs.read_file`, the form every client accepts. */
function findOffered(
  { tool, name }: Capability,
  offered: readonly Capability[],
): Capability | undefined {
  const asked = tool ?? name;
  return (
    findCapability({ capabilities: offered }, asked) ??
    findCapability({ capabilities: offered }, asked.replaceAll(':', '.')) ??
    offered.find((capability) => capability.tool === asked)
  );
}

/** The manifest wins; the agent fills in what the manifest leaves out. */
function completed(named: Capability, own: Capability): Capability {
  const { title, description, annotations, input_schema, output_schema, idempotent } = own;
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(input_schema && { input_schema }),
    ...(output_schema && { output_schema }),
    ...(idempotent !== undefined && { idempotent }),
    ...named,
    ...(annotations && { annotations: { ...annotations, ...named.annotations } }),
  };
}

function warnOfMissing(agent_id: string, missing: readonly MissingCapability[], log: Log): void {
  for (const { name, near } of missing) {
    const fix = near === undefined ? 'remove it from the manifest' : `did you mean "${near}"?`;
    log.warn({ agent_id, capability: name, fix }, 'the agent does not offer a declared capability');
  }
}

function warnOfNone({ agent_id, capabilities }: Manifest, log: Log): void {
  const fix =
    capabilities === undefined
      ? 'list its capabilities in the manifest if its protocol cannot say them'
      : 'remove the key "capabilities" to serve all it offers';
  log.warn({ agent_id, fix }, 'the agent serves no capability');
}

function notReached({ agent_id }: Manifest, failure: FabricError | undefined): FabricError {
  const { upstream, fix = 'starloom health shows why' } = failure?.details ?? {};
  const message = `Agent "${agent_id}" was not reached yet, so what it offers is unknown`;
  return new FabricError('AGENT_OFFLINE', failure ? `${message}: ${failure.message}` : message, {
    details: {
      agent_id,
      reason: 'not_discovered',
      sent: false,
      ...(upstream !== undefined && { upstream }),
      fix,
    },
    cause: failure,
  });
}
