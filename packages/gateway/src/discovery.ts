// What each agent serves. A manifest without `capabilities` serves everything the agent says it
// offers; one with the key serves exactly those, completed by what the agent says of them. Agents are
// asked when they appear, when they come online, and when they say that their list changed. Answers
// are kept across restarts, so that a slow agent's tools are listed at once. What an operator did not
// approve is not served (`pinning/`).

import { setTimeout as delay } from 'node:timers/promises';
import {
  type AgentDescription,
  type AgentRecord,
  type Capability,
  FabricError,
  type Log,
  type Manifest,
  orAborted,
  type Registry,
} from '@starloom/core';
import type { Authoriser, Principal } from '@starloom/identity';
import { deadlineSignal, settlesWithin } from '@starloom/wire';
import type { AdapterPool } from './adapter-pool.ts';
import type { DiscoveredCapabilities } from './discovered-file.ts';
import {
  describeAny,
  notReached,
  warnOfAlikeAgents,
  warnOfAlikeTools,
  warnOfMissing,
  warnOfNone,
  warnOfUnusable,
} from './discovery-notes.ts';
import {
  isServed,
  type MissingCapability,
  type Offer,
  toOffers,
  toOffersInTurns,
} from './pinning/offer.ts';
import type { Pinning, Reviewed } from './pinning/pinning.ts';
import type { Caller, CallRequest } from './pipeline/call-request.ts';
import { failure } from './reasons.ts';

interface DiscoveryOptions {
  readonly registry: Registry;
  readonly authoriser: Authoriser;
  readonly adapters: AdapterPool;
  readonly log: Log;
  /** What agents said in earlier runs. */
  readonly store?: DiscoveredCapabilities | undefined;
  /** What operators approved; without it everything is. */
  readonly pinning?: Pinning | undefined;
  readonly askMs?: number;
  readonly atOnce?: number;
  /** An agent that says more often that its list changed is asked again only so often. */
  readonly refreshEveryMs?: number;
  /** How long calls that name no agent wait for one that was asked and has not answered. */
  readonly patienceMs?: number;
}

const ASK_MS = 90_000;
const TOOL_WAIT_MS = 30_000;
/** How long after agents appear lists wait for what they offer. */
const LIST_WAIT_MS = 5_000;
const AT_ONCE = 8;
const REFRESH_EVERY_MS = 1_000;
/** Agents that an earlier run knew are asked after the first requests, which need no answer of theirs. */
const KNOWN_AFTER_MS = 200;
const PATIENCE_MS = 10_000;

export class Discovery {
  readonly #options: DiscoveryOptions;
  /** Agents that answered in this run, with what they lack. */
  readonly #answered = new WeakMap<Manifest, readonly MissingCapability[]>();
  readonly #restored = new WeakSet<Manifest>();
  /** Agents that answered in this run, or in an earlier one. */
  readonly known = new WeakSet<Manifest>();
  /** What each agent said of itself, beside its capabilities. */
  readonly #said = new WeakMap<Manifest, Omit<AgentDescription, 'capabilities'>>();
  /** What each agent said last, to be reviewed again when an approval changes. */
  readonly #offers = new WeakMap<Manifest, readonly Offer[]>();
  /** Agents that went away: they may have changed when they are back. */
  readonly #away = new Set<string>();
  /** Names that look alike and were reported. */
  readonly #alike = new Set<string>();
  readonly #failures = new WeakMap<Manifest, FabricError>();
  readonly #asking = new Map<Manifest, Promise<void>>();
  /** Since when their answer is on its way, on the monotonic clock; the others wait for their turn. */
  readonly #fetching = new Map<Manifest, number>();
  /** Asked again while an answer was on its way. */
  readonly #again = new Set<Manifest>();
  /** When an agent was last asked again, on the monotonic clock. */
  readonly #refreshed = new WeakMap<Manifest, number>();
  readonly #waiting: (() => void)[] = [];
  readonly #stop = new AbortController();
  readonly #unwatch: (() => void)[];
  #running = 0;
  /** On the monotonic clock. */
  #listsWaitUntil = 0;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    const { registry, pinning } = options;
    this.#unwatch = [
      registry.watch(({ kind, agentIds }) => {
        if (kind === 'agents') this.#appeared(agentIds);
        else if (kind === 'health') for (const agentId of agentIds) this.#askIfOnline(agentId);
      }),
      pinning?.onChange((agentIds) => this.#reviewAgain(agentIds)) ?? (() => {}),
    ];
  }

  start(): void {
    this.#appeared(this.#options.registry.list().map(({ manifest }) => manifest.agent_id));
  }

  close(): void {
    for (const unwatch of this.#unwatch) unwatch();
    this.#stop.abort(failure('shutting_down/waiting'));
  }

  /** Whether what the agent serves is known: declared, discovered now, or in an earlier run. */
  isKnown(manifest: Manifest): boolean {
    if (this.known.has(manifest)) return true;
    return manifest.capabilities !== undefined && !this.#options.pinning?.isForeign(manifest);
  }

  /** Whether all is known that a list shows: no tool is listed with a made-up schema. */
  isListed(manifest: Manifest, { name, input_schema }: Capability): boolean {
    if (input_schema) return true;
    return this.#answered.get(manifest)?.every((missing) => missing.name !== name) ?? false;
  }

  /** What the agent said of itself in this run. */
  saidBy(manifest: Manifest): Omit<AgentDescription, 'capabilities'> {
    return this.#said.get(manifest) ?? {};
  }

  missingOf(manifest: Manifest): readonly MissingCapability[] {
    return this.#answered.get(manifest) ?? [];
  }

  /**
   * What a call must wait for: the first answer of the agent it names, or of agents that were just asked
   * and may have the capability when no agent is known to; `capability` undefined is any. `undefined`
   * when there is nothing to wait for: no call waits for an agent that could not serve it.
   */
  awaitFor(
    { agent_id: agentId, capability }: Partial<Pick<CallRequest, 'agent_id' | 'capability'>>,
    { principal, signal }: Pick<Caller, 'principal' | 'signal'>,
    waitMs: number,
  ): Promise<void> | undefined {
    const { registry } = this.#options;
    const isAwaited = ({ manifest }: AgentRecord) =>
      !this.isKnown(manifest) && this.#mayServe(manifest, capability, principal);
    if (agentId !== undefined) {
      const named = registry.get(agentId);
      return named && isAwaited(named) ? this.ready(named, signal, waitMs) : undefined;
    }
    const isOffered = () =>
      capability !== undefined && registry.findByCapability(capability).length > 0;
    if (isOffered()) return undefined;
    const unknown = registry.list().filter(isAwaited);
    const found = Promise.withResolvers<void>();
    const ready = unknown.flatMap((record) => {
      const ms = Math.min(waitMs, this.#patienceFor(record.manifest));
      if (ms <= 0) return [];
      const answered = this.ready(record, signal, ms).catch(() => {});
      return answered.then(() => isOffered() && found.resolve());
    });
    if (ready.length === 0) return undefined;
    return Promise.race([Promise.all(ready), found.promise]).then(() => signal.throwIfAborted());
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

  /**
   * Clients that list once, right after they connect, get agents that are just being asked. What an earlier
   * run knew is listed at once: clients are notified if the agent says something else now.
   */
  async firstAnswers(): Promise<void> {
    const waitMs = this.#listsWaitUntil - performance.now();
    if (waitMs <= 0) return;
    const pending = [...this.#asking].filter(
      ([manifest]) => !this.#failures.has(manifest) && !this.#restored.has(manifest),
    );
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
    if (this.#fetching.has(manifest)) this.#again.add(manifest);
    await this.#askAgain(manifest);
  }

  /**
   * Throws MANIFEST_CHANGED when what the agent lists now is not what was approved; the agent is asked
   * again then.
   */
  readonly confirm = (manifest: Manifest, capability: Capability, offered: Capability): void => {
    // All instances of an agent are held to what was approved of the one that stands for it.
    const served = this.#options.registry.get(manifest.agent_id)?.manifest ?? manifest;
    try {
      this.#options.pinning?.confirm(served, capability, offered);
    } catch (error) {
      void this.refresh(manifest.agent_id);
      throw error;
    }
  };

  #mayServe(manifest: Manifest, capability: string | undefined, principal: Principal): boolean {
    const { authoriser } = this.#options;
    if (capability === undefined) return authoriser.mayReach(principal, manifest);
    return isServed(manifest, capability) && authoriser.maySee(principal, manifest, capability);
  }

  /** None for an agent that did not answer when it was asked: it is offline, or is started in vain. */
  #patienceFor(manifest: Manifest): number {
    const { patienceMs = PATIENCE_MS } = this.#options;
    if (!this.#asking.has(manifest) || this.#failures.has(manifest)) return 0;
    const since = this.#fetching.get(manifest);
    return since === undefined ? patienceMs : since + patienceMs - performance.now();
  }

  #appeared(agentIds: readonly string[]): void {
    const { registry, store, log } = this.#options;
    this.#listsWaitUntil = performance.now() + LIST_WAIT_MS;
    warnOfAlikeAgents(registry, log, this.#alike);
    for (const agentId of agentIds) {
      const manifest = registry.get(agentId)?.manifest;
      if (!manifest) {
        store?.forget(agentId);
        continue;
      }
      if (this.#answered.has(manifest)) continue;
      this.#restore(manifest);
      const isWaiting = this.#options.pinning?.isForeign(manifest) && !this.#restored.has(manifest);
      if (isWaiting) registry.updateCapabilities(agentId, []);
      const isKnown = this.#restored.has(manifest);
      void this.#ask(manifest, isKnown ? () => this.#pause(KNOWN_AFTER_MS) : undefined);
    }
  }

  /** What an earlier run knew; all of it must have been approved then. */
  #restore(manifest: Manifest): void {
    const { store, pinning } = this.#options;
    const capabilities = store?.get(manifest);
    if (!capabilities) return;
    const { offers } = toOffers(manifest, { capabilities });
    const reviewed = pinning ? pinning.peek(manifest, offers) : withoutReview(offers);
    if (!reviewed) return;
    this.#restored.add(manifest);
    this.known.add(manifest);
    this.#serve(manifest, reviewed);
  }

  async #review(manifest: Manifest, offers: readonly Offer[]): Promise<Reviewed> {
    this.#offers.set(manifest, offers);
    await this.#options.pinning?.prepare(manifest, offers);
    return (await this.#options.pinning?.review(manifest, offers)) ?? withoutReview(offers);
  }

  #serve(manifest: Manifest, { capabilities, held }: Reviewed): void {
    const { registry } = this.#options;
    if (registry.get(manifest.agent_id)?.manifest !== manifest) return;
    registry.updateCapabilities(manifest.agent_id, capabilities, held);
  }

  #reviewAgain(agentIds: ReadonlySet<string>): void {
    for (const agentId of agentIds) {
      const manifest = this.#options.registry.get(agentId)?.manifest;
      const offers = manifest && this.#offers.get(manifest);
      if (!offers || !this.#answered.has(manifest)) continue;
      this.#review(manifest, offers).then(
        (reviewed) => this.#serve(manifest, reviewed),
        (error: unknown) => {
          const { agent_id } = manifest;
          this.#options.log.warn({ agent_id, error: FabricError.from(error) }, 'not reviewed');
        },
      );
    }
  }

  #askIfOnline(agentId: string): void {
    const record = this.#options.registry.get(agentId);
    if (!record || record.health.status === 'offline') {
      this.#away.add(agentId);
      return;
    }
    if (record.health.status !== 'online') return;
    if (!this.#away.delete(agentId) && this.#answered.has(record.manifest)) return;
    void this.#ask(record.manifest);
  }

  #ask(manifest: Manifest, begin?: () => Promise<void>): Promise<void> {
    const known = this.#asking.get(manifest);
    if (known) return known;
    const fetch = () => this.#fetch(manifest);
    const asking = (begin ? begin().then(fetch) : fetch()).finally(() => {
      this.#asking.delete(manifest);
      if (this.#again.delete(manifest)) void this.#askAgain(manifest);
    });
    this.#asking.set(manifest, asking);
    return asking;
  }

  /** To read, review and write down a list costs time that others wait for. */
  #askAgain(manifest: Manifest): Promise<void> {
    const { refreshEveryMs = REFRESH_EVERY_MS } = this.#options;
    return this.#ask(manifest, async () => {
      const last = this.#refreshed.get(manifest) ?? Number.NEGATIVE_INFINITY;
      const restMs = last + refreshEveryMs - performance.now();
      if (restMs > 0) await this.#pause(restMs);
      this.#refreshed.set(manifest, performance.now());
    });
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
  }

  /** A fleet that appears at once is asked a few agents at a time; their answers are reviewed together. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= (this.#options.atOnce ?? AT_ONCE)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #fetch(manifest: Manifest): Promise<void> {
    const { log, registry, store } = this.#options;
    const { agent_id } = manifest;
    try {
      const description = await this.#inTurn(() => this.#describe(manifest));
      if (!description || registry.get(agent_id)?.manifest !== manifest) return;
      const { offers, missing, unusable } = await toOffersInTurns(manifest, description);
      const reviewed = await this.#review(manifest, offers);
      const before = this.#answered.get(manifest);
      this.#answered.set(manifest, missing);
      this.known.add(manifest);
      const { capabilities: _, ...said } = description;
      this.#said.set(manifest, said);
      this.#failures.delete(manifest);
      store?.set(manifest, description.capabilities);
      if (!before && offers.length === 0) warnOfNone(manifest, log);
      if (!before) warnOfAlikeTools(agent_id, offers, log);
      if (!before && unusable.length > 0) warnOfUnusable(agent_id, unusable, log);
      if (before?.length !== missing.length) warnOfMissing(agent_id, missing, log);
      this.#serve(manifest, reviewed);
    } catch (thrown) {
      const error = FabricError.from(thrown);
      this.#failures.set(manifest, error);
      if (error.code !== 'CANCELLED') log.debug({ agent_id, error }, 'agent not discovered');
    } finally {
      this.#fetching.delete(manifest);
    }
  }

  /** `undefined` of an agent that went away before its turn came. */
  async #describe(manifest: Manifest): Promise<AgentDescription | undefined> {
    const { registry, askMs = ASK_MS } = this.#options;
    if (this.#stop.signal.aborted) return undefined;
    if (registry.get(manifest.agent_id)?.manifest !== manifest) return undefined;
    using deadline = deadlineSignal({ ms: askMs, parent: this.#stop.signal });
    this.#fetching.set(manifest, performance.now());
    return await describeAny(manifest, this.#options, deadline.signal);
  }
}

function withoutReview(offers: readonly Offer[]): Reviewed {
  return { capabilities: offers.map(({ served }) => served), held: [] };
}
