// Holds agents to what an operator approved. Every answer of an agent is reviewed before it is served,
// and what is new is on the disk before that. A call is checked against the same fingerprints when its
// adapter knows what the agent lists at that moment; fingerprints are made once per list.

import {
  type Capability,
  type Clock,
  FabricError,
  type HeldCapability,
  type Log,
  type Manifest,
  systemClock,
} from '@starloom/core';
import {
  type AuditEntry,
  followFile,
  LiveFile,
  type Realm,
  type StoreFollower,
} from '@starloom/identity';
import { streamTurns } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { type Offer, toOffer } from './offer.ts';
import {
  type AgentPins,
  type Approved,
  type PinsFile,
  pinsFile,
  sharedPins,
  toApproved,
} from './pins-file.ts';
import {
  judgeOne,
  manifestChanged,
  printOf,
  type Review,
  type ReviewRules,
  review,
  toAuditEntries,
} from './review.ts';

export interface PinningOptions {
  readonly stateFolder: string;
  readonly isStrict: boolean;
  /** Gateways with which approvals are shared. */
  readonly realm?: Realm | undefined;
  /** Who registered an agent; without it, every agent is the operator's. */
  readonly ownerOf?: ReviewRules['ownerOf'] | undefined;
  readonly audit?: ((entry: AuditEntry) => void) | undefined;
  readonly clock?: Clock;
  readonly log: Log;
}

export type Reviewed = Pick<Review, 'capabilities' | 'held'>;

interface Print {
  readonly name: string;
  readonly offer: Offer | undefined;
  readonly fingerprint: string | undefined;
}

interface Waiting {
  readonly manifest: Manifest;
  readonly offers: readonly Offer[];
}

export class Pinning {
  readonly #options: PinningOptions & { readonly clock: Clock };
  readonly #rules: ReviewRules;
  readonly #listeners = new Set<(agentIds: ReadonlySet<string>) => void>();
  /** Fingerprints of what adapters list, made once per list. */
  readonly #prints = new WeakMap<Capability, Print>();
  readonly #warned = new Set<string>();
  #file: LiveFile<PinsFile> | undefined;
  #sharing: StoreFollower | undefined;
  /** Approved fingerprints by agent and capability. */
  #approved: Approved = new Map();
  /** A change leaves the entries of other agents as they are. */
  #followed: readonly AgentPins[] = [];
  #waiting: Waiting[] = [];
  #next: Promise<void> | undefined;
  #turn: Promise<void> = Promise.resolve();

  private constructor(options: PinningOptions) {
    const { isStrict, ownerOf = () => undefined, clock = systemClock } = options;
    this.#options = { ...options, clock };
    this.#rules = { isStrict, ownerOf };
  }

  /** BAD_INPUT when the file cannot be used: nothing is served then. */
  static async open(options: PinningOptions): Promise<Pinning> {
    const pinning = new Pinning(options);
    const { stateFolder, log, realm } = options;
    const onChange = (changed: PinsFile) => pinning.#follow(changed);
    const file = await LiveFile.open({ ...pinsFile(stateFolder), log, onChange });
    pinning.#file = file;
    if (realm) {
      const shared = sharedPins((edit) => file.change(edit));
      pinning.#sharing = await followFile(realm, shared, log);
    }
    pinning.#approved = toApproved(file.value);
    pinning.#followed = file.value.agents;
    return pinning;
  }

  /** Called with the agents of which something else is approved or held now; returns how to stop. */
  onChange(listener: (agentIds: ReadonlySet<string>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reads now what an operator just approved. */
  async follow(): Promise<void> {
    await this.#file?.reload();
  }

  /** Whether nothing of the agent is served before it was reviewed: no operator wrote its manifest. */
  isForeign(manifest: Manifest): boolean {
    return this.#rules.ownerOf(manifest) !== undefined;
  }

  /** What is served now; `undefined` when something must be written first. */
  peek(manifest: Manifest, offers: readonly Offer[]): Reviewed | undefined {
    const found = this.#review(this.#value, { manifest, offers });
    return found.file === this.#value ? found : undefined;
  }

  /** Makes the fingerprints, few in each turn of the event loop: an agent may list thousands. */
  async prepare(manifest: Manifest, offers: readonly Offer[]): Promise<void> {
    for (const offer of offers) {
      printOf(manifest, offer, this.#rules);
      await streamTurns.enter(manifest.agent_id);
    }
  }

  /** What may be served, once it is on the disk. */
  async review(manifest: Manifest, offers: readonly Offer[]): Promise<Reviewed> {
    const known = this.peek(manifest, offers);
    if (!known) {
      this.#waiting.push({ manifest, offers });
      await this.#write();
    }
    const reviewed = known ?? this.#review(this.#value, { manifest, offers });
    for (const held of reviewed.held) this.#warn(manifest, held);
    return reviewed;
  }

  /** Throws MANIFEST_CHANGED when what an adapter lists of a capability is not what was approved. */
  confirm(manifest: Manifest, { name }: Capability, offered: Capability): void {
    const { agent_id } = manifest;
    const { offer, fingerprint } = this.#printOf(manifest, name, offered);
    if (offer && fingerprint === undefined) return;
    if (offer && this.#approved.get(agent_id)?.get(name) === fingerprint) return;
    const held = offer
      ? judgeOne(this.#value, manifest, offer, this.#rules)
      : { name, reason: 'changed' as const, changes: ['hidden_characters'] };
    if (held) throw manifestChanged(agent_id, held);
  }

  async close(): Promise<void> {
    await this.#next?.catch(() => {});
    await this.#turn;
    await this.#sharing?.close();
    await this.#file?.close();
  }

  get #value(): PinsFile {
    if (this.#file) return this.#file.value;
    throw new FabricError('INTERNAL', 'The file of pins is not open');
  }

  #printOf(manifest: Manifest, name: string, offered: Capability): Print {
    const known = this.#prints.get(offered);
    if (known?.name === name) return known;
    const offer = toOffer(manifest, name, offered);
    const fingerprint = offer && printOf(manifest, offer, this.#rules)?.fingerprint;
    const print = { name, offer, fingerprint };
    this.#prints.set(offered, print);
    return print;
  }

  #review(file: PinsFile, { manifest, offers }: Waiting): Review {
    return review(file, manifest, offers, this.#rules, this.#options.clock.now());
  }

  /** One write for all that wait: a fleet that appears at once is not written agent by agent. */
  #write(): Promise<void> {
    this.#next ??= this.#turn.then(() => {
      this.#next = undefined;
      const writing = this.#writeWaiting();
      this.#turn = writing.catch(() => {});
      return writing;
    });
    return this.#next;
  }

  async #writeWaiting(): Promise<void> {
    const batch = this.#waiting.splice(0);
    if (batch.length === 0) return;
    const { log } = this.#options;
    let before: PinsFile | undefined;
    try {
      const after = await this.#file?.change((file) => {
        before = file;
        return batch.reduce((written, each) => this.#review(written, each).file, file);
      });
      if (before && after) this.#record(before, after, batch);
    } catch (thrown) {
      const error = FabricError.from(thrown);
      log.error({ error }, 'approved tools cannot be written; what is new is not served');
      throw failure('pins', { fix: error.details.fix }, { cause: thrown });
    }
  }

  #follow(file: PinsFile): void {
    this.#approved = toApproved(file);
    void this.#sharing?.hint();
    const changed = new Set(this.#followed).symmetricDifference(new Set(file.agents));
    this.#followed = file.agents;
    const agentIds = new Set([...changed].map(({ agent_id }) => agent_id));
    for (const listener of [...this.#listeners]) listener(agentIds);
  }

  /** What this gateway pinned and held, by agent. */
  #record(before: PinsFile, after: PinsFile, batch: readonly Waiting[]): void {
    const { audit } = this.#options;
    if (!audit) return;
    for (const { agent_id } of new Set(batch.map(({ manifest }) => manifest))) {
      const [old, now] = [before, after].map(({ agents }) =>
        agents.find((agent) => agent.agent_id === agent_id),
      );
      for (const entry of toAuditEntries(agent_id, old, now)) audit(entry);
    }
  }

  #warn({ agent_id }: Manifest, { name, reason, changes, like }: HeldCapability): void {
    const held = this.#value.agents
      .find((agent) => agent.agent_id === agent_id)
      ?.held.find(({ definition }) => definition.name === name);
    const key = `${agent_id}/${name}/${held?.fingerprint}`;
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    const fix = `starloom agents approve ${agent_id}`;
    const found = { agent_id, capability: name, reason, changes, ...(like && { like }), fix };
    this.#options.log.warn(found, 'a capability waits for approval and is not served');
  }
}
