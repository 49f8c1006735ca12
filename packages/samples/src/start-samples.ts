// Starts the sample agents the way a single node runs its own: those that serve HTTP are processes
// on loopback, kept running; the others are programs that the gateway starts when it needs them.

import { extname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Log, ManifestInput } from '@starloom/core';
import { z } from 'zod';
import type { AgentCard } from './agent.ts';
import { createCoder } from './coder.ts';
import { flaky } from './flaky.ts';
import { KeptServer, type Script } from './kept-server.ts';
import { createLibrarian } from './librarian.ts';
import { percy, percyBackup } from './percy.ts';

interface SamplesOptions {
  readonly folder: string;
  readonly log: Log;
  readonly ports?: { readonly percy?: number; readonly librarian?: number };
}

export interface Samples extends AsyncDisposable {
  readonly manifests: ManifestInput[];
  /** Resolves when no process of theirs is left. */
  stop(): Promise<void>;
}

/** Resolves when all of them listen; rejects with AGENT_OFFLINE, leaving none running. */
export async function startSamples(options: SamplesOptions): Promise<Samples> {
  const { log, ports = {} } = options;
  const folder = resolve(options.folder);
  const start = (name: 'percy' | 'librarian') => {
    const script = sampleScript(name, '--folder', folder);
    return KeptServer.start({ name, script, log }, ports[name]);
  };
  const settled = await Promise.allSettled([start('percy'), start('librarian')]);
  const servers = settled.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed) {
    await stop();
    throw failed.reason;
  }
  const [percyUrl = '', librarianUrl = ''] = servers.map(({ url }) => url);
  const manifests = sampleManifests(folder, percyUrl, librarianUrl);
  return { manifests, stop, [Symbol.asyncDispose]: stop };
}

export function sampleManifests(
  folder: string,
  percyUrl: string,
  librarianUrl: string,
): ManifestInput[] {
  const pooled = { pooled: true, cwd: folder };
  return [
    {
      ...toManifest(percy, 'text'),
      endpoint: { transport: 'http', uri: percyUrl },
      fallbacks: ['percy-backup'],
    },
    {
      ...toManifest(percyBackup, 'text', 'backup'),
      endpoint: { transport: 'stdio', ...sampleScript('percy-backup') },
    },
    {
      ...toManifest(createCoder(folder), 'source'),
      endpoint: { transport: 'process', ...sampleScript('coder'), options: pooled },
    },
    {
      ...toManifest(createLibrarian(folder), 'docs'),
      endpoint: { transport: 'http', protocol: 'http', uri: librarianUrl },
    },
    // Less trusted than the others, so that calls reach it only when they name it.
    {
      ...toManifest(flaky, 'demo'),
      endpoint: { transport: 'process', ...sampleScript('flaky'), options: { grace_ms: 200 } },
      trust_tier: 'partner',
      fallbacks: ['percy-backup'],
    },
  ];
}

/** All but the endpoint, with the schemas by which the sample checks its input and output. */
function toManifest(card: AgentCard, ...tags: readonly string[]): Omit<ManifestInput, 'endpoint'> {
  const { id, capability, description, input, output, timeoutMs } = card;
  return {
    agent_id: id,
    version: '0.1.0',
    description,
    trust_tier: 'local',
    tags: ['sample', ...tags],
    capabilities: [
      {
        name: capability,
        description,
        streaming: true,
        modalities: ['text'],
        idempotent: true,
        input_schema: toJsonSchema(input, 'input'),
        output_schema: toJsonSchema(output, 'output'),
        ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
      },
    ],
  };
}

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const override = ({ jsonSchema }: { jsonSchema: { maximum?: number } }) => {
    // Says nothing that a reader of the schema would want to know.
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  };
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, override });
  return { ...rest };
}

/** How a sample's `main` is started: from source where this file is source, else as it was built. */
function sampleScript(name: string, ...args: readonly string[]): Script {
  const ending = extname(import.meta.filename);
  const path = fileURLToPath(new URL(`./main${ending}`, import.meta.url));
  const conditions = ending === '.ts' ? ['--conditions=@starloom/source'] : [];
  return { command: process.execPath, args: [...conditions, path, name, ...args] };
}
