// `starloom up` in a process and a state folder of its own, behind a wire of ours. It can be killed
// and started again on the same state.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FabricError, orAborted } from '@starloom/core';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import {
  childEnvironment,
  deadlineSignal,
  type ManagedProcess,
  readNdjson,
  spawnProcess,
} from '@starloom/wire';
import type { OpenLink } from './link.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { openWebSocketLink, type WebSocketAddress } from './websocket-link.ts';

const LAUNCHER = fileURLToPath(new URL('../../packages/starloom/bin/starloom.js', import.meta.url));
const MAX_LINE_BYTES = 1 << 20;
const ANSWER_MS = 1_500;
/** A hang guard, not a measure. */
const START_MS = 30_000;
const NO_LINE = { done: true, value: undefined } as const;

export class GatewayProcess implements AsyncDisposable {
  readonly wire: TcpProxy;
  readonly #folder: TemporaryFolder;
  #process: ManagedProcess;
  #key = '';

  /** `coordination` is that section of `starloom.yaml`. */
  static async start(coordination: object): Promise<GatewayProcess> {
    const folder = await temporaryFolder();
    try {
      await writeFile(join(folder.path, 'starloom.yaml'), JSON.stringify({ coordination }));
      await writeFile(join(folder.path, 'agents.yaml'), '[]');
      const child = await spawnGateway(folder.path);
      const gateway = new GatewayProcess(folder, child, await TcpProxy.open(0));
      await gateway.#ready();
      return gateway;
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(folder: TemporaryFolder, child: ManagedProcess, wire: TcpProxy) {
    this.#folder = folder;
    this.#process = child;
    this.wire = wire;
  }

  get address(): WebSocketAddress {
    const url = `ws://127.0.0.1:${this.wire.port}/rpc/ws`;
    return { url, key: this.#key, timeoutMs: ANSWER_MS };
  }

  get open(): OpenLink {
    return openWebSocketLink(this.address);
  }

  /** With SIGKILL, then up again. */
  async crash(): Promise<void> {
    this.#process.signal('SIGKILL');
    await this.#process.stop();
    this.wire.cut();
    this.#process = await spawnGateway(this.#folder.path);
    await this.#ready();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wire[Symbol.asyncDispose]();
    await this.#process.stop();
    await this.#folder[Symbol.asyncDispose]();
  }

  async #ready(): Promise<void> {
    const lines = readNdjson(this.#process.stdout, { maxLineBytes: MAX_LINE_BYTES });
    using deadline = deadlineSignal({ ms: START_MS });
    const { value, done } = await orAborted(lines.next(), deadline.signal).catch(() => NO_LINE);
    if (done) {
      const stderr = this.#process.stderrTail().slice(-2_000);
      const details = { reason: 'did_not_start', stderr };
      throw new FabricError('UPSTREAM_ERROR', 'The gateway did not start', { details });
    }
    this.#process.stdout.resume();
    this.wire.target = Number(new URL((value as { url: string }).url).port);
    const client = await readFile(join(this.#folder.path, 'state', 'client.json'), 'utf8');
    this.#key = (JSON.parse(client) as { key: string }).key;
  }
}

function spawnGateway(folder: string): Promise<ManagedProcess> {
  return spawnProcess({
    command: process.execPath,
    args: [LAUNCHER, 'up', '--json', '--port', '0'],
    cwd: folder,
    env: childEnvironment({ extra: { STARLOOM_HOME: join(folder, 'state') } }),
  });
}
