// The agents that tasks may be given to: those that agent.toml names, and those of a gateway's directory as far as
// agent.toml allows them. No other agent is called, whatever a model or a message asks for.

import { FabricError, type Log } from '@starloom/core';
import { defineTool } from '@starloom/sdk';
import { z } from 'zod';
import type { DirectoryConfig, PeerConfig } from '../config/agent-toml.ts';
import type { ToolSource } from '../core/seams.ts';
import { fixedSource } from '../core/tool-registry.ts';
import { failure } from '../reasons.ts';
import { A2aPeer } from './a2a-peer.ts';
import { type Peer, type PeerDescription, toDelegateOptions, toPeerOutput } from './peer.ts';
import { PeerTasks } from './peer-tasks.ts';

interface PeersOptions {
  readonly peers: readonly PeerConfig[];
  readonly directory: DirectoryConfig | undefined;
  /** Where tasks are kept that may go on; absent: in memory. */
  readonly folder: string | undefined;
  readonly log: Log;
}

type ListedPeer = { readonly name: string } & (PeerDescription | { readonly problem: FabricError });

const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,30}$/;
const MAX_SHOWN = 100;
/** Agents of the directory whose connections are kept. */
const MAX_FOUND = 256;
const MAX_SECONDS = 86_400;
/** The deadline of the peer comes first. */
const GRACE_MS = 10_000;

const resumeSchema = z.strictObject({
  task: z.string().min(1).max(100).describe('As peers:list names it'),
  text: z.string().max(100_000).default('').describe('The answer to its question, or what follows'),
  seconds: z.number().positive().max(MAX_SECONDS).default(300).describe('How long to wait'),
});

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
    const named = [...this.#named.values()].map((peer) => describe(peer, signal));
    return [...(await Promise.all(named)), ...(await this.#listDirectory(signal))];
  }

  /** What the model knows of its peers and their tasks; `agent:delegate` gives new ones. */
  toSource(): ToolSource {
    const list = defineTool({
      name: 'peers:list',
      description:
        'Lists other agents that take tasks, with their skills, and the tasks given to them that can be resumed: those that run, also from before a restart, those that ask, and those that are done.',
      command: 'peers',
      effect: 'read',
      parameters: z.strictObject({}),
      execute: async (_, { signal }) => ({
        peers: (await this.list(signal)).map(toListing),
        tasks: this.tasks.list().map(({ id, peer, state, about, at }) => {
          return { task: id, peer, state, about, since: new Date(at).toISOString() };
        }),
      }),
    });
    const resume = defineTool({
      name: 'peers:resume',
      description:
        'Resumes a task at another agent: waits for one that runs, answers one that asks, or says more in its conversation.',
      command: 'resume-peer',
      effect: 'act',
      targets: ['task'],
      timeoutMs: MAX_SECONDS * 1_000 + GRACE_MS,
      parameters: resumeSchema,
      execute: async ({ task, text, seconds }, context) => {
        const record = this.tasks.get(task);
        if (!record) throw failure('unknown_peer_task', { task });
        const options = toDelegateOptions(context, { seconds });
        const peer = this.get(record.peer);
        return toPeerOutput(await peer.delegate({ text, resume: task }, options));
      },
    });
    return fixedSource([list, resume], () => this.close());
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
    const card = await describe(this.#directory, signal);
    if ('problem' in card) return [card];
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

async function describe(peer: A2aPeer, signal: AbortSignal): Promise<ListedPeer> {
  const { name } = peer;
  return await peer.describe(signal).then(
    (description) => ({ name, ...description }),
    (error: unknown) => ({ name, problem: FabricError.from(error) }),
  );
}

/** An agent of the gateway, called as the gateway is. */
function at({ url, headers }: DirectoryConfig, path: string): Omit<PeerConfig, 'name'> {
  const card = `${url.replace(/\/+$/, '')}${path}`;
  return { card, headers, mandate: true, origins: [], allow_private: false };
}

function toListing(peer: ListedPeer) {
  if (!('problem' in peer)) return peer;
  const { code, message } = peer.problem;
  return { name: peer.name, offline: `${code}: ${message}` };
}
