// The agents that tasks may be given to: those that agent.toml names, and those of a gateway's directory as far as
// agent.toml allows them. No other agent is called, whatever a model or a message asks for.

import type { Log } from '@starloom/core';
import { FabricError } from '@starloom/core';
import type { DirectoryConfig, PeerConfig } from '../config/agent-toml.ts';
import { failure } from '../reasons.ts';
import { A2aPeer } from './a2a-peer.ts';
import type { DelegateOptions, Peer, PeerDescription, PeerOutcome, PeerTask } from './peer.ts';
import { PeerTasks } from './peer-tasks.ts';

interface PeersOptions {
  readonly peers: readonly PeerConfig[];
  readonly directory: DirectoryConfig | undefined;
  /** Where tasks are kept that may go on; absent: in memory. */
  readonly folder: string | undefined;
  readonly log: Log;
}

export type ListedPeer = { readonly name: string } & (
  | PeerDescription
  | { readonly problem: FabricError }
);

const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,30}$/;
const MAX_SHOWN = 100;
/** Agents of the directory whose connections are kept. */
const MAX_FOUND = 256;

export class Peers {
  readonly tasks: PeerTasks;
  readonly #options: PeersOptions;
  readonly #named: ReadonlyMap<string, A2aPeer>;
  readonly #found = new Map<string, A2aPeer>();
  readonly #directory: A2aPeer | undefined;

  constructor(options: PeersOptions) {
    this.#options = options;
    this.tasks = new PeerTasks(options.folder);
    const { peers, directory } = options;
    const listed = directory?.agents.filter((name) => name !== '*') ?? [];
    const known = new Set(peers.map(({ name }) => name));
    this.#named = new Map([
      ...peers.map((config) => [config.name, this.#open(config)] as const),
      ...listed
        .filter((name) => !known.has(name))
        .map((name) => [name, this.#openListed(name)] as const),
    ]);
    this.#directory = directory && this.#open({ ...at(directory, ''), name: 'fabric' });
  }

  /** Those that are known by name without asking the directory. */
  get named(): ReadonlyMap<string, Peer> {
    return this.#named;
  }

  /** BAD_INPUT for an agent that agent.toml does not allow. */
  get(name: string): Peer {
    const known = this.#named.get(name) ?? this.#found.get(name);
    if (known) return known;
    if (!this.#takesAll || !AGENT_ID.test(name)) {
      throw failure('unknown_peer', {
        peer: name.slice(0, MAX_SHOWN),
        known: [...this.#named.keys()],
      });
    }
    const peer = this.#openListed(name);
    this.#found.set(name, peer);
    const [oldest] = this.#found.values();
    if (oldest && this.#found.size > MAX_FOUND) {
      this.#found.delete(oldest.name);
      void oldest.close();
    }
    return peer;
  }

  /** All that can be asked now, with what they say of themselves; one that is down says why. */
  async list(signal: AbortSignal): Promise<ListedPeer[]> {
    const described = await Promise.all(
      [...this.#named.values()].map(async (peer) => ({
        name: peer.name,
        ...(await peer.describe(signal).catch((error: unknown) => ({
          problem: FabricError.from(error),
        }))),
      })),
    );
    return [...described, ...(await this.#listDirectory(signal))];
  }

  /** Gives each its task at the same time, and waits until every one has ended or failed, in this order. */
  async delegateAll(
    tasks: readonly (PeerTask & { readonly to: string })[],
    options: DelegateOptions,
  ): Promise<PeerOutcome[]> {
    return await Promise.all(
      tasks.map(async ({ to, ...task }): Promise<PeerOutcome> => {
        try {
          return await this.get(to).delegate(task, options);
        } catch (error) {
          return { peer: to, status: 'failed', error: FabricError.from(error) };
        }
      }),
    );
  }

  async close(): Promise<void> {
    const all = [
      ...this.#named.values(),
      ...this.#found.values(),
      ...(this.#directory ? [this.#directory] : []),
    ];
    await Promise.all(all.map((peer) => peer.close()));
  }

  get #takesAll(): boolean {
    return this.#options.directory?.agents.includes('*') === true;
  }

  /** The card of a gateway has a skill `<agent>.<capability>` for everything that we may use. */
  async #listDirectory(signal: AbortSignal): Promise<ListedPeer[]> {
    if (!this.#directory || !this.#takesAll) return [];
    const card = await this.#directory.describe(signal).catch((error: unknown) => {
      return { problem: FabricError.from(error) };
    });
    if ('problem' in card) return [{ name: 'fabric', ...card }];
    const byAgent = Map.groupBy(card.skills, ({ id }) => id.split('.', 1).join(''));
    return [...byAgent]
      .filter(([name]) => AGENT_ID.test(name) && !this.#named.has(name))
      .map(([name, skills]) => ({
        name,
        description: '',
        version: '',
        skills: skills.map((skill) => ({ ...skill, id: skill.id.slice(name.length + 1) })),
      }));
  }

  #open(config: PeerConfig): A2aPeer {
    const { log } = this.#options;
    return new A2aPeer({ config, tasks: this.tasks, log });
  }

  #openListed(name: string): A2aPeer {
    const { log, directory } = this.#options;
    if (!directory) throw failure('unknown_peer', { peer: name });
    const config = { ...at(directory, `/a2a/${name}`), name };
    return new A2aPeer({ config, tasks: this.tasks, log, isMandated: true });
  }
}

/** An agent of the gateway, called as the gateway is. */
function at({ url, headers }: DirectoryConfig, path: string): Omit<PeerConfig, 'name'> {
  const card = `${url.replace(/\/+$/, '')}${path}`;
  return { card, headers, mandate: true, origins: [], allow_private: false };
}
