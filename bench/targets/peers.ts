// Proxies of other projects that install from a registry in minutes and forward HTTP to HTTP. Bridges to
// stdio alone (supergateway, mcp-remote) cannot stand in front of the same upstream. Nothing is
// installed until a run asks for it; it then stays in the folder of the other peers.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  freePort,
  type ProgramResult,
  prepareNpm,
  preparePython,
  requireProgram,
  runProgram,
} from '@starloom/testkit';
import type { Environment } from '@starloom/wire';
import { prepareFolder } from '../../packages/testkit/src/prepared-folder.ts';
import { ownProgram, type Program } from '../own-program.ts';
import type { PeerName } from '../plan.ts';

export interface Peer {
  readonly version: string;
  /** At how many calls at once it still passes all progress on to the client. */
  readonly maxStreams: number;
  readonly install: () => Promise<ProgramResult>;
  readonly program: (place: PeerPlace) => Promise<Program> | Program;
}

export interface PeerPlace {
  /** What `install` found. */
  readonly path: string;
  readonly upstreamUrl: string;
  readonly port: number;
  /** For its configuration. */
  readonly folder: string;
}

const NPM_VERSION = '6.7.19';
const GO_MODULE = 'github.com/TBXark/mcp-proxy';
const INSTALL_MS = 300_000;

export const PEER_PROGRAMS: Readonly<Record<PeerName, Peer>> = {
  tbxark: {
    version: '0.43.2',
    maxStreams: 0,
    install: installGoModule,
    async program({ path, upstreamUrl, port, folder }) {
      const config = join(folder, 'tbxark.json');
      const origin = `http://127.0.0.1:${port}`;
      const mcpProxy = {
        ...{ baseURL: origin, addr: `127.0.0.1:${port}`, name: 'bench', version: '0' },
        ...{ type: 'streamable-http', options: { panicIfInvalid: true, logEnabled: false } },
      };
      const mcpServers = { bench: { url: upstreamUrl, transportType: 'streamable-http' } };
      await writeFile(config, JSON.stringify({ mcpProxy, mcpServers }));
      return { command: path, args: ['--config', config], url: `${origin}/bench/mcp` };
    },
  },
  npm_mcp_proxy: {
    version: NPM_VERSION,
    maxStreams: Number.POSITIVE_INFINITY,
    install: () => prepareNpm([`mcp-proxy@${NPM_VERSION}`]),
    program: ({ path, upstreamUrl, port }) => ({
      ...ownProgram('targets/npm-mcp-proxy.ts', path, upstreamUrl, String(port)),
      url: `http://127.0.0.1:${port}/mcp`,
    }),
  },
  fastmcp: {
    version: '4.1.2',
    maxStreams: 1,
    // The environment of the interop tests, which holds this version.
    install: () => preparePython(here('../../test/interop/clients/python/requirements.txt')),
    program: ({ path, upstreamUrl, port }) => {
      const listen = ['--transport', 'http', '--host', '127.0.0.1', '--port', String(port)];
      const quiet = ['--no-banner', '--log-level', 'ERROR'];
      const args = ['-m', 'fastmcp.cli', 'run', upstreamUrl, ...listen, ...quiet];
      return { command: path, args, url: `http://127.0.0.1:${port}/mcp` };
    },
  },
};

/** Installs the peer if it is not there yet; its program, or why there is none. */
export async function openPeer(
  name: PeerName,
  upstreamUrl: string,
  folder: string,
): Promise<{ readonly program: Program } | { readonly missing: string }> {
  const { install, program } = PEER_PROGRAMS[name];
  const installed = await install();
  if (!installed.found) return { missing: `${installed.reason}; ${installed.howToInstall}` };
  const { path } = installed;
  return { program: await program({ path, upstreamUrl, port: await freePort(), folder }) };
}

/** The module's own command, as its registry has it, with the sums of `tbxark/go.sum`. */
async function installGoModule(): Promise<ProgramResult> {
  const go = await requireProgram({
    names: ['go'],
    package: 'golang-go',
    folders: ['/usr/local/go/bin'],
  });
  if (!go.found) return go;
  const source = here('tbxark');
  try {
    const folder = await prepareFolder({
      name: 'go-tbxark',
      madeFrom: [PEER_PROGRAMS.tbxark.version],
      async build(path) {
        const args = ['build', '-o', join(path, 'program'), GO_MODULE];
        const env = process.env as Environment;
        const run = { command: go.path, args, cwd: source, env };
        const { code, stderr } = await runProgram(run, INSTALL_MS);
        if (code !== 0) throw new Error(stderr.slice(-500));
      },
    });
    return { found: true, path: join(folder, 'program') };
  } catch (error) {
    const reason = (error as Error).message;
    return { found: false, reason, howToInstall: `let ${go.path} reach its module proxy` };
  }
}

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
