import { chromium, postgres, redis, type ServerDefinition } from './engines.ts';
import { freePort } from './free-port.ts';
import { type ProgramDefinition, requireProgram } from './program.ts';
import { runProgram } from './run-program.ts';
import { RunningServer } from './running-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

const servers = { redis, postgres } satisfies Record<string, ServerDefinition>;

export const engines = { ...servers, chromium } satisfies Record<
  string,
  { readonly program: ProgramDefinition }
>;

export type EngineName = keyof typeof engines;
export type ServerName = keyof typeof servers;

export interface Program {
  readonly path: string;
  readonly version: string;
}

/** A server on a loopback port with a folder of its own; both stay the same over restarts. */
export interface Engine extends AsyncDisposable {
  readonly name: ServerName;
  readonly version: string;
  readonly url: string;
  readonly port: number;
  /** Of the server that runs, or ran last. */
  readonly pid: number;
  /** Ends it in order; its data stay for `restart`. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  kill(): Promise<void>;
}

export async function openProgram(name: EngineName): Promise<Program> {
  const result = await requireProgram(engines[name].program);
  if (!result.found)
    throw new Error(`${name} is missing: ${result.howToInstall} (${result.reason})`);
  const { stdout, stderr } = await runProgram({ command: result.path, args: ['--version'] });
  const [version] = /\d+(\.\d+)+/.exec(stdout) ?? [];
  if (version === undefined) throw new Error(`${result.path} tells no version:\n${stderr}`);
  return { path: result.path, version };
}

/** Resolves when the server answers. */
export async function openEngine(name: ServerName): Promise<Engine> {
  const { path, version } = await openProgram(name);
  const folder = await temporaryFolder();
  const port = await freePort();
  const server = new RunningServer(servers[name], { path, folder: folder.path, port });
  const close = async () => {
    await server.stop();
    await folder[Symbol.asyncDispose]();
  };
  try {
    await server.prepare();
    await server.start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    name,
    version,
    port,
    url: servers[name].url(port),
    get pid() {
      return server.pid;
    },
    stop: () => server.stop(),
    kill: () => server.kill(),
    async restart() {
      await server.stop();
      await server.start();
    },
    [Symbol.asyncDispose]: close,
  };
}
