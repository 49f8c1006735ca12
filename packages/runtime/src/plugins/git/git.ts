// Runs git on one repository as if its configuration were hostile: nothing that the repository, the
// machine or the environment configures is executed, no network is used, and what a caller gives is
// never read as an option. The user's own configuration is not read either.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FabricError } from '@starloom/core';
import { childEnvironment, type Environment } from '@starloom/wire';
import { type ProgramOutput, runProgram } from '../run-program.ts';
import { assertRepositoryInside } from './repository-inside.ts';
import { disarm, FIXED_SETTINGS, type Setting } from './settings.ts';

export interface GitOptions {
  /** The top folder of the repository. */
  readonly folder: string;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface GitRun {
  readonly signal: AbortSignal;
  /** More of the environment, such as who commits. */
  readonly env?: Environment;
}

export class Git {
  readonly #options: GitOptions;

  constructor(options: GitOptions) {
    this.#options = options;
  }

  /** What `git <args>` printed; BAD_INPUT with its complaint when it failed. */
  async run(args: readonly string[], run: GitRun): Promise<string> {
    await this.#assertRepository();
    const settings = [...FIXED_SETTINGS, ...disarm(await this.settingNames(run))];
    const output = await this.#execute(args, settings, run);
    if (output.stopped === 'output') return `${output.stdout}\n(cut here: there is more)\n`;
    return succeeded(output, args).stdout;
  }

  /** The keys that the repository configures, as git spells them. */
  async settingNames(run: GitRun): Promise<string[]> {
    const args = ['config', '--null', '--name-only', '--list'];
    const { stdout } = succeeded(await this.#execute(args, [], run), args);
    return stdout.split('\0').filter((name) => name !== '');
  }

  /** A setting of the repository or of the user. Reading one executes nothing. */
  async setting(name: string, { signal }: GitRun): Promise<string | undefined> {
    const env = { GIT_CONFIG_GLOBAL: undefined };
    const { stdout } = await this.#execute(['config', '--get', name], [], { signal }, env);
    return stdout.trim() || undefined;
  }

  #execute(
    args: readonly string[],
    settings: readonly Setting[],
    { signal, env = {} }: GitRun,
    without: Readonly<Record<string, undefined>> = {},
  ): Promise<ProgramOutput> {
    const { folder, timeoutMs, maxBytes } = this.#options;
    const extra = { ...ENVIRONMENT, ...settingsAsEnvironment(settings), ...env, ...without };
    return runProgram({
      command: 'git',
      args: ['--no-pager', `--git-dir=${join(folder, '.git')}`, `--work-tree=${folder}`, ...args],
      cwd: folder,
      env: childEnvironment({ extra: definedOf(extra) }),
      timeoutMs,
      maxBytes,
      signal,
    });
  }

  async #assertRepository(): Promise<void> {
    const { folder } = this.#options;
    if (await stat(join(folder, '.git')).catch(() => undefined)) {
      return await assertRepositoryInside(folder);
    }
    throw new FabricError('BAD_INPUT', 'There is no git repository here', {
      details: {
        reason: 'no_repository',
        folder,
        fix: 'set "folder" of the git plugin to its top',
      },
    });
  }
}

const ENVIRONMENT: Environment = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_PAGER: 'cat',
  GIT_EDITOR: 'false',
  GIT_ASKPASS: 'false',
  GIT_SSH_COMMAND: 'false',
};

/** Past the command line: the name of a setting may hold an equals sign. */
function settingsAsEnvironment(settings: readonly Setting[]): Environment {
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  for (const [index, [name, value]] of settings.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = name;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return env;
}

function definedOf(env: Readonly<Record<string, string | undefined>>): Environment {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function succeeded(output: ProgramOutput, [command]: readonly string[]): ProgramOutput {
  const { exit, stderr, stopped } = output;
  if (stopped === 'timeout') {
    throw new FabricError('TIMEOUT', `git ${command} took too long`, {
      details: {
        reason: 'git_timeout',
        fix: 'ask for less, or raise timeout_ms of the git plugin',
      },
    });
  }
  if (exit.code === 0) return output;
  throw new FabricError('BAD_INPUT', `git ${command} failed: ${stderr.trim().slice(-2_000)}`, {
    details: { reason: 'git_failed', exit_code: exit.code },
  });
}
