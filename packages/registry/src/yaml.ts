// Agents from a file. Each change of the file applies whole or not at all: while it cannot be used
// the agents loaded before stay, and `status` says so. Loads and writes take turns, so that readers
// never see an older file after a newer one. There is one writer: this process, or an editor.

import { dirname, resolve } from 'node:path';
import { type Problem, problemsOf, toProblemText } from '@starloom/config';
import {
  type Clock,
  DirectoryReads,
  FabricError,
  type Log,
  type Manifest,
  type Registry,
  type RegistryStatus,
  systemClock,
} from '@starloom/core';
import { FileWatch, fingerprintOf } from '@starloom/wire';
import { changeAgentsFile, readAgentsFile } from './agents-file.ts';
import type { OptionSchemas } from './endpoint-options.ts';
import { anchorSecretFiles, type Env, resolveEndpoint } from './endpoint-secrets.ts';
import { parseManifest } from './parse-manifest.ts';

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

export interface ReloadResult {
  /** False when the file cannot be used; the agents loaded before stay. */
  readonly ok: boolean;
  /** Agents that are new, different or gone. */
  readonly changed: readonly string[];
}

export interface YamlRegistry extends Registry {
  /** Reads the file again, now; a change of the file needs no such call. */
  reload(): Promise<ReloadResult>;
}

/** BAD_INPUT with every problem and its line when the file cannot be used. */
export async function openYamlRegistry(options: YamlRegistryOptions): Promise<YamlRegistry> {
  const registry = new FileRegistry(options);
  await registry.start();
  return registry;
}

class FileRegistry extends DirectoryReads implements YamlRegistry {
  readonly #path: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #env: Env;
  readonly #builtIn: readonly Manifest[] | undefined;
  readonly #optionSchemas: OptionSchemas | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #watch: FileWatch | undefined;
  #asOf = '';
  #problem: string | undefined;

  constructor(options: YamlRegistryOptions) {
    super();
    const { path, log, clock = systemClock, env = {}, builtIn, optionSchemas } = options;
    this.#path = resolve(path);
    this.#log = log.child({ registry: this.#path });
    this.#clock = clock;
    this.#env = env;
    this.#builtIn = builtIn;
    this.#optionSchemas = optionSchemas;
  }

  async start(): Promise<void> {
    const known = await fingerprintOf(this.#path);
    await this.#apply(await this.#read());
    const onChange = () => void this.reload();
    this.#watch = new FileWatch({ path: this.#path, known, onChange, log: this.#log });
  }

  async register(manifest: Manifest): Promise<void> {
    const valid = parseManifest(manifest);
    await this.#inTurn(async () => {
      const create = this.#builtIn !== undefined;
      const options = { create, optionSchemas: this.#optionSchemas };
      await this.#apply(await changeAgentsFile(this.#path, { put: [valid] }, options));
    });
  }

  status(): RegistryStatus {
    const { size: agents } = this.directory;
    const status = { kind: 'yaml', ok: this.#problem === undefined, agents, as_of: this.#asOf };
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
    this.#watch?.close();
    await this.#turn;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #read(): Promise<readonly Manifest[]> {
    const isOptional = this.#builtIn !== undefined;
    if (isOptional && (await fingerprintOf(this.#path)) === 'ENOENT') return [];
    return await readAgentsFile(this.#path, { optionSchemas: this.#optionSchemas });
  }

  async #apply(listed: readonly Manifest[]): Promise<string[]> {
    const manifests = this.#withBuiltIn(listed);
    const changed = this.directory.replaceAll(manifests.map((manifest) => this.#keep(manifest)));
    const recovered = this.#problem !== undefined;
    this.#problem = undefined;
    this.#asOf = new Date(this.#clock.now()).toISOString();
    if (changed.length > 0 || recovered) {
      this.#log.info({ agents: manifests.length, changed }, 'agents loaded');
    }
    await this.#warnOfSecrets(changed);
    return changed;
  }

  #withBuiltIn(listed: readonly Manifest[]): readonly Manifest[] {
    const ids = new Set(listed.map(({ agent_id }) => agent_id));
    return [...listed, ...(this.#builtIn ?? []).filter(({ agent_id }) => !ids.has(agent_id))];
  }

  /** An agent that did not change stays the same object: its open connections hang on that. */
  #keep(manifest: Manifest): Manifest {
    const after = anchorSecretFiles(manifest, dirname(this.#path));
    const before = this.directory.get(after.agent_id)?.manifest;
    return before && JSON.stringify(before) === JSON.stringify(after) ? before : after;
  }

  async #warnOfSecrets(agentIds: readonly string[]): Promise<void> {
    for (const agent_id of agentIds) {
      const manifest = this.directory.get(agent_id)?.manifest;
      if (!manifest) continue;
      await resolveEndpoint(manifest, this.#env).catch((error: FabricError) => {
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
