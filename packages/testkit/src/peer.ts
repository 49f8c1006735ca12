import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '@starloom/wire';
import { installPackage } from './install-package.ts';
import { prepareFolder } from './prepared-folder.ts';
import {
  type ProgramDefinition,
  type ProgramResult,
  type RequireProgramOptions,
  requireProgram,
} from './program.ts';
import { runProgram } from './run-program.ts';

/** A program of another project: an interpreter with its packages, or an executable. */
export interface PeerOptions extends RequireProgramOptions {
  /** Where it is kept between runs; by default below `node_modules`. */
  readonly cache?: string;
}

const PYTHON: ProgramDefinition = { names: ['python3'], package: 'python3-venv' };
const GO: ProgramDefinition = {
  names: ['go'],
  package: 'golang-go',
  folders: ['/usr/local/go/bin'],
};
const NPM: ProgramDefinition = { names: ['npm'], package: 'npm' };
/** Installs a hundred packages in seconds, where pip needs a minute. */
const UV = 'uv==0.13.7';
const TEN_MINUTES = 600_000;

/** The interpreter of a virtual environment with the packages of a requirements file. */
export async function preparePython(
  requirements: string,
  options: PeerOptions = {},
): Promise<ProgramResult> {
  return preparePeer('python', PYTHON, options, async (python) => {
    const text = await readFile(requirements, 'utf8');
    const { stdout: version } = await run(python, ['--version']);
    const folder = await prepareFolder({
      ...options,
      name: 'python',
      madeFrom: [UV, text, python, version],
      async build(path) {
        const own = join(path, 'bin', 'python');
        await createEnvironment(python, path);
        await run(own, ['-m', 'pip', 'install', '--quiet', UV]);
        const install = ['-m', 'uv', 'pip', 'install', '--quiet', '--no-deps'];
        await run(own, [...install, '--python', own, '--requirement', requirements]);
      },
    });
    return join(folder, 'bin', 'python');
  });
}

export async function prepareGo(source: string, options: PeerOptions = {}): Promise<ProgramResult> {
  return preparePeer('go', GO, options, async (go) => {
    const names = (await readdir(source)).sort();
    const texts = await Promise.all(names.map((name) => readFile(join(source, name), 'utf8')));
    const { stdout: version } = await run(go, ['version'], source);
    const folder = await prepareFolder({
      ...options,
      name: 'go',
      madeFrom: [version, ...texts],
      build: async (path) => {
        await run(go, ['build', '-buildvcs=false', '-o', join(path, 'program'), '.'], source);
      },
    });
    return join(folder, 'program');
  });
}

/** The folder of packages of npm, each named with its exact version; their scripts are not run. */
export async function prepareNpm(
  packages: readonly string[],
  options: PeerOptions = {},
): Promise<ProgramResult> {
  return preparePeer('npm', NPM, options, async (npm) => {
    const folder = await prepareFolder({
      ...options,
      name: 'npm',
      madeFrom: [process.version, ...packages],
      build: async (path) => {
        const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts'];
        await run(npm, [...install, '--prefix', path, ...packages]);
      },
    });
    return join(folder, 'node_modules');
  });
}

async function preparePeer(
  name: string,
  tool: ProgramDefinition,
  options: PeerOptions,
  prepare: (toolPath: string) => Promise<string>,
): Promise<ProgramResult> {
  const { mustExist = process.env.CI === 'true' } = options;
  const program = await requireProgram(tool, options);
  if (!program.found) return program;
  try {
    return { found: true, path: await prepare(program.path) };
  } catch (error) {
    const reason = (error as Error).message;
    const howToInstall = `let ${program.path} reach its package index`;
    if (mustExist) throw new Error(`${name} is needed here: ${howToInstall} (${reason})`);
    return { found: false, reason, howToInstall };
  }
}

/** Debian's python3 creates no environment until its package python3-venv is there. */
async function createEnvironment(python: string, path: string): Promise<void> {
  const create = () => run(python, ['-m', 'venv', path]);
  await create().catch(async (error: unknown) => {
    const { installed } = await installPackage(PYTHON.package);
    if (!installed) throw error;
    await create();
  });
}

/** Installers see the whole environment: it says which index and which certificates to use. */
async function run(command: string, args: readonly string[], cwd?: string) {
  const env = process.env as Environment;
  const done = await runProgram({ command, args, env, ...(cwd && { cwd }) }, TEN_MINUTES);
  if (done.code === 0) return done;
  const said = `${done.stdout}\n${done.stderr}`.trim().slice(-2_000);
  throw new Error(`${command} ${args.slice(0, 3).join(' ')} failed: ${said}`);
}
