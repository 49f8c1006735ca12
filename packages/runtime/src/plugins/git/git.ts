// Runs git on one repository as if its configuration were hostile: nothing that the repository, the
// machine or the environment configures is executed, no network is used, and what a caller gives is
// never read as an option. The user's own configuration is not read either.

import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { childEnvironment, type Environment } from '@starloom/wire';
import { isInside } from '@starloom/wire/files';
import { z } from 'zod';
import { failure } from '../../reasons.ts';
import { type ProgramOutput, runProgram } from '../run-program.ts';

interface GitOptions {
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
    return assertSucceeded(output, args).stdout;
  }

  /** The keys that the repository configures, as git spells them. */
  async settingNames(run: GitRun): Promise<string[]> {
    const args = ['config', '--null', '--name-only', '--list'];
    const { stdout } = assertSucceeded(await this.#execute(args, [], run), args);
    return stdout.split('\0').filter((name) => name !== '');
  }

  /** A setting of the repository or of the user. Reading one executes nothing. */
  async setting(name: string, { signal }: GitRun): Promise<string | undefined> {
    const { GIT_CONFIG_GLOBAL: _, ...env } = ENVIRONMENT;
    const { stdout } = await this.#execute(['config', '--get', name], [], { signal }, env);
    return stdout.trim() || undefined;
  }

  #execute(
    args: readonly string[],
    settings: readonly Setting[],
    { signal, env = {} }: GitRun,
    environment: Environment = ENVIRONMENT,
  ): Promise<ProgramOutput> {
    const { folder, timeoutMs, maxBytes } = this.#options;
    const extra = { ...environment, ...settingsAsEnvironment(settings), ...env };
    return runProgram({
      command: 'git',
      args: ['--no-pager', `--git-dir=${join(folder, '.git')}`, `--work-tree=${folder}`, ...args],
      cwd: folder,
      env: childEnvironment({ extra }),
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
    throw failure('no_repository', { folder });
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

function assertSucceeded(output: ProgramOutput, [command]: readonly string[]): ProgramOutput {
  const { exit, stderr, stopped } = output;
  if (stopped === 'timeout') throw failure('git_timeout', { command });
  if (exit.code === 0) return output;
  const said = stderr.trim().slice(-2_000);
  throw failure('git_failed', { command, said, exit_code: exit.code });
}

/** A commit, branch, tag or range. Never an option: it does not begin with a dash. */
export const revisionSchema = z
  .string()
  .max(500)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  .regex(/^[^-\s\0-\x1f][^\s\0-\x1f]*$/, 'expected a revision such as HEAD~1, main or a..b');

const pathSchema = z
  .string()
  .min(1)
  .refine((path) => !isAbsolute(path) && !path.includes('\0'), 'expected a relative path')
  .refine((path) => !path.split(/[/\\]/).includes('..'), 'expected a path without ".."');

export const pathsSchema = z.array(pathSchema).max(1_000);

/** The end of a command line: what a caller gave, where git reads no options. */
export function operands(revision: string | undefined, paths: readonly string[] = []): string[] {
  return [...(revision === undefined ? [] : ['--end-of-options', revision]), '--', ...paths];
}

/**
 * POLICY_DENIED when `.git` of the folder, or what it refers to, lies outside of the folder: a link, a
 * file that names another place, a common folder, or a link inside of it.
 */
async function assertRepositoryInside(folder: string): Promise<void> {
  const root = await realpath(folder);
  const own = join(folder, '.git');
  const named = await pointerIn(own, 'gitdir:');
  const repository = await realpath(named === undefined ? own : resolve(folder, named)).catch(
    () => undefined,
  );
  if (repository === undefined || !isInside(root, repository)) {
    throw failure('repository_outside', { folder });
  }
  const common = await pointerIn(join(repository, 'commondir'), '');
  const parts = await readdir(repository, { withFileTypes: true });
  const links = parts.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
  for (const place of [...links, ...(common === undefined ? [] : [common])]) {
    const real = await realpath(resolve(repository, place)).catch(() => undefined);
    if (real === undefined || !isInside(root, real)) {
      throw failure('repository_outside', { folder });
    }
  }
}

/** What a file of one line names; `undefined` when there is no such file. */
async function pointerIn(file: string, prefix: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text?.startsWith(prefix) ? text.slice(prefix.length).trim() : undefined;
}

type Setting = readonly [name: string, value: string];

/** They win over the settings of the repository. An empty name runs no program. */
const FIXED_SETTINGS: readonly Setting[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.askPass', 'false'],
  ['core.sshCommand', 'false'],
  ['core.gitProxy', ''],
  ['core.attributesFile', '/dev/null'],
  ['core.quotePath', 'false'],
  ['credential.helper', ''],
  ['diff.external', ''],
  ['diff.submodule', 'short'],
  ['status.submoduleSummary', 'false'],
  ['submodule.recurse', 'false'],
  ['log.showSignature', 'false'],
  ['commit.gpgSign', 'false'],
  ['gpg.program', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
];

/** Settings in whose name stands a driver of the repository's own choosing. */
const PROGRAMS =
  /^(?:filter\..+\.(?:clean|smudge|process)|diff\..+\.(?:command|textconv)|merge\..+\.driver)$/is;

/** What it takes so that none of the programs named in these settings is run. */
function disarm(names: readonly string[]): Setting[] {
  return names.flatMap((name): Setting[] => {
    if (!PROGRAMS.test(name)) return [];
    if (!/^filter\./i.test(name)) return [[name, '']];
    const driver = name.slice(0, name.lastIndexOf('.'));
    return [
      [name, ''],
      [`${driver}.required`, 'false'],
    ];
  });
}
