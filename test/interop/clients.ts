// The clients that every scenario runs through.

import { fileURLToPath } from 'node:url';
import { type ProgramResult, prepareGo, preparePython } from '@starloom/testkit';
import type { Transport } from './client-world.ts';
import type { DriverProgram } from './driver.ts';

export interface InteropClient {
  readonly name: string;
  readonly prepare: () => Promise<ProgramResult>;
  readonly program: (path: string) => DriverProgram;
  readonly mode?: 'auto' | 'legacy';
  /** Of the protocol, as the client negotiates it. */
  readonly revision: string;
  /** Where the gateway can notify it that the list of tools changed; elsewhere it lists again. */
  readonly hearsChangesOver: readonly Transport[];
}

const EVERYWHERE = { hearsChangesOver: ['http', 'stdio'] } as const;
const OLDER = { revision: '2025-11-25', ...EVERYWHERE } as const;
const CURRENT = { revision: '2026-07-28', ...EVERYWHERE } as const;

export const CLIENTS: readonly InteropClient[] = [
  { name: 'TypeScript SDK v1', ...typescript('typescript-v1.ts'), ...OLDER },
  { name: 'TypeScript SDK v2', ...typescript('typescript-v2.ts'), ...CURRENT },
  {
    name: 'TypeScript SDK v2, older revision',
    mode: 'legacy',
    ...typescript('typescript-v2.ts'),
    ...OLDER,
  },
  { name: 'Python SDK', ...python('python_sdk.py'), ...CURRENT },
  // Its client opens no subscription, which the current revision needs for notifications.
  { name: 'fastmcp', ...python('fast_mcp.py'), ...CURRENT, hearsChangesOver: [] },
  { name: 'Go SDK', ...go('clients/go'), ...CURRENT },
];

/** Those of them that also speak an older revision when they are set to. */
export const CLIENTS_SET_BACK: readonly InteropClient[] = [
  { name: 'Python SDK, older revision', ...python('python_sdk.py'), ...OLDER },
  { name: 'fastmcp, older revision', ...python('fast_mcp.py'), ...OLDER },
  { name: 'Go SDK, older revision', ...go('clients/go'), ...OLDER },
];

/** An interpreter with the Python clients and servers. */
export function preparePythonPeers(): Promise<ProgramResult> {
  return preparePython(here('clients/python/requirements.txt'));
}

function typescript(file: string) {
  return {
    prepare: async () => ({ found: true, path: process.execPath }) as const,
    program: (path: string) => ({ command: path, args: [here(`clients/${file}`)] }),
  };
}

function go(folder: string) {
  return {
    prepare: () => prepareGo(here(folder)),
    program: (path: string) => ({ command: path, args: [] }),
  };
}

function python(file: string) {
  return {
    prepare: preparePythonPeers,
    program: (path: string) => ({ command: path, args: [here(`clients/python/${file}`)] }),
  };
}

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
