// Agents from a file. Each change of the file applies whole or not at all: while it cannot be used
// the agents loaded before stay, and `status` says so. Loads and writes take turns, so that readers
// never see an older file after a newer one. There is one writer: this process, or an editor. Agents that
// register themselves are beside those of the file, in memory.

import { dirname, resolve } from 'node:path';
import { type Problem, problemsOf, toProblemText } from '@starloom/config';
import {
  type Clock,
  FabricError,
  type InstanceEntry,
  instanceKey,
  LocalRegistry,
  type Log,
  type Manifest,
  type MemoryRegistrar,
  type Registry,
  type RegistryStatus,
  systemClock,
  toInstance,
} from '@starloom/core';
import { FileWatch, fingerprintOf } from '@starloom/wire';
import { type AgentsFileChange, changeAgentsFile, readAgentsFile } from './agents-file.ts';
import type { OptionSchemas } from './endpoint-options.ts';
import { anchorSecretFiles, type Env, resolveEndpoint } from './endpoint-secrets.ts';

export interface YamlRegistryOptions {
  readonly path: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** Where secrets named `env:NAME` are looked up, to warn of those that are missing. */
  readonly env?: Env;
  /**
   * Agents beside those of the file, which win over them by id. With these the file may be missing:
   * its agents are served from the moment it appears.
   */
  readonly builtIn?: readonly Manifest[] | undefined;
  /** Of `endpoint.options` by protocol; those of other protocols are not checked. */
  readonly optionSchemas?: OptionSchemas | undefined;
}

interface ReloadResult {
  /** False when the file cannot be used; the agents loaded before stay. */
  readonly ok: boolean;
  readonly changed: readonly string[];
}

export interface YamlRegistry extends Registry {
  readonly registrar: MemoryRegistrar;
  /** Reads the file again, now; a change of the file needs no such call. */
  reload(): Promise<ReloadResult>;
}

/** BAD_INPUT with every problem and its line when the file cannot be used. */
export async function openYamlRegistry(options: YamlRegistryOptions): Promise<YamlRegistry> {
  const registry = new FileRegistry(options);
  await registry.start();
  return registry;
}

class FileRegistry extends LocalRegistry implements YamlRegistry {
  readonly #options: YamlRegistryOptions;
  readonly #path: string;
  readonly #log: Log;
  readonly #clock: Clock;
  #turn: Promise<unknown> = Promise.resolve();
  #watch: FileWatch | undefined;
  #asOf = '';
  #problem: string | undefined;

  constructor(options: YamlRegistryOptions) {
    const { path, log, clock = systemClock } = options;
    super({
      clock,
      store: {
        put: (manifest, check) => this.#change({ put: [manifest] }, check),
        remove: (agentId, nodeId) => this.#change({ remove: [{ agentId, nodeId }] }),
      },
    });
    this.#options = options;
    this.#path = resolve(path);
    this.#log = log.child({ registry: this.#path });
    this.#clock = clock;
  }

  async start(): Promise<void> {
    const known = await fingerprintOf(this.#path);
    await this.#apply(await this.#read());
    const onChange = () => void this.reload();
    this.#watch = new FileWatch({ path: this.#path, known, onChange, log: this.#log });
  }

  async register(manifest: Manifest): Promise<void> {
    await this.registrar.register(manifest, { principal: 'local', isOperator: true });
  }

  status(): RegistryStatus {
    const ok = this.#problem === undefined;
    const status = { kind: 'yaml', ok, as_of: this.#asOf, ...this.statusOf() };
    return this.#problem === undefined ? status : { ...status, message: this.#problem };
  }

  reload(): Promise<ReloadResult> {
    return this.#inTurn(async () => {
      try {
        return { ok: true, changed: await this.#apply(await this.#read()) };
      } catch (error) {
        const { message } = FabricError.from(error);
        this.#problem = message;
        const problems = problemsOf(error);
        this.#log.error(
          problems === undefined ? { error } : { problems: problems.map(toProblemText) },
          'the file of agents cannot be used; the agents loaded before stay',
        );
        return { ok: false, changed: [] };
      }
    });
  }

  async close(): Promise<void> {
    this.registrar.close();
    this.#watch?.close();
    await this.#turn;
  }

  async #change(change: AgentsFileChange, check?: () => void): Promise<void> {
    await this.#inTurn(async () => {
      check?.();
      const { builtIn, optionSchemas } = this.#options;
      const rules = { create: builtIn !== undefined, optionSchemas };
      await this.#apply(await changeAgentsFile(this.#path, change, rules));
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #read(): Promise<readonly Manifest[]> {
    const isOptional = this.#options.builtIn !== undefined;
    if (isOptional && (await fingerprintOf(this.#path)) === 'ENOENT') return [];
    return await readAgentsFile(this.#path, this.#options);
  }

  async #apply(listed: readonly Manifest[]): Promise<string[]> {
    const { builtIn = [] } = this.#options;
    const ids = new Set(listed.map(({ agent_id }) => agent_id));
    const manifests = [...listed, ...builtIn.filter(({ agent_id }) => !ids.has(agent_id))];
    const changed = this.directory.replaceAll(this.#withLeased(manifests));
    const recovered = this.#problem !== undefined;
    this.#problem = undefined;
    this.#asOf = new Date(this.#clock.now()).toISOString();
    if (changed.length > 0 || recovered) {
      this.#log.info({ agents: manifests.length, changed }, 'agents loaded');
    }
    await this.#warnOfSecrets(changed);
    return changed;
  }

  /** An entry that changed is newer than the others; agents that registered themselves stay. */
  #withLeased(manifests: readonly Manifest[]): InstanceEntry[] {
    const listed = manifests.map((each) => {
      const manifest = anchorSecretFiles(each, dirname(this.#path));
      const known = this.directory
        .entriesOf(manifest.agent_id)
        .find((entry) => entry.manifest.node_id === manifest.node_id);
      const isSame = known && JSON.stringify(known.manifest) === JSON.stringify(manifest);
      return toInstance(manifest, isSame ? known.revision : this.registrar.nextRevision());
    });
    const keys = new Set(manifests.map(instanceKey));
    const leased = this.registrar
      .leased()
      .filter(({ manifest }) => !keys.has(instanceKey(manifest)));
    return [...listed, ...leased];
  }

  async #warnOfSecrets(agentIds: readonly string[]): Promise<void> {
    for (const agent_id of agentIds) {
      const manifest = this.directory.get(agent_id)?.manifest;
      if (!manifest) continue;
      await resolveEndpoint(manifest, this.#options.env ?? {}).catch((error: FabricError) => {
        const problems = problemsOf(error.cause)?.map(toMissingText) ?? error.message;
        this.#log.warn({ agent_id, problems }, 'the agent cannot be called: a secret is missing');
      });
    }
  }
}

/** The key last: a name such as Authorization hides what follows it in a log. */
function toMissingText({ key, message, fix }: Problem): string {
  return `${message}; ${fix} (${key})`;
}
