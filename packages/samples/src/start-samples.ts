// Starts the sample agents the way a single node runs its own: those that serve HTTP are processes
// on loopback, kept running; the others are programs that the gateway starts when it needs them.

import { resolve } from 'node:path';
import type { Log, ManifestInput } from '@starloom/core';
import { KeptServer } from './kept-server.ts';
import { sampleManifests, sampleScript } from './manifests.ts';

/** Those that serve HTTP. */
export const SAMPLE_SERVERS = ['percy', 'librarian'] as const;

export type SampleServer = (typeof SAMPLE_SERVERS)[number];

export interface SamplesOptions {
  /** What coder and librarian may read. */
  readonly folder: string;
  readonly log: Log;
  /** Free ones by default. */
  readonly ports?: Partial<Record<SampleServer, number>>;
  /** Pauses between words, for people who watch. */
  readonly slow?: boolean;
}

export interface Samples extends AsyncDisposable {
  readonly manifests: ManifestInput[];
  /** Of the process that serves it now, or did last. */
  pidOf(server: SampleServer): number;
  /** Resolves when no process of theirs is left. */
  stop(): Promise<void>;
}

/** Resolves when all of them listen; rejects with AGENT_OFFLINE, leaving none running. */
export async function startSamples(options: SamplesOptions): Promise<Samples> {
  const folder = resolve(options.folder);
  const args = options.slow ? ['--slow'] : [];
  const servers = await startServers({ ...options, folder }, args);
  const stop = async () => {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
  };
  const urls = { percy: servers.percy.url, librarian: servers.librarian.url };
  return {
    manifests: sampleManifests({ folder, urls, args }),
    pidOf: (server) => servers[server].pid,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function startServers(
  { folder, log, ports = {} }: SamplesOptions,
  args: readonly string[],
): Promise<Record<SampleServer, KeptServer>> {
  const start = (name: SampleServer) => {
    const script = sampleScript(name, '--folder', folder, ...args);
    return KeptServer.start({ name, script, log }, ports[name]);
  };
  const starting = [start('percy'), start('librarian')] as const;
  try {
    const [percy, librarian] = await Promise.all(starting);
    return { percy, librarian };
  } catch (error) {
    for (const each of await Promise.allSettled(starting)) {
      if (each.status === 'fulfilled') await each.value.stop();
    }
    throw error;
  }
}
