import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ManifestInput } from '@starloom/core';
import { z } from 'zod';
import type { AgentCard } from './agent.ts';
import { createCoder } from './coder.ts';
import { flaky } from './flaky.ts';
import { createLibrarian } from './librarian.ts';
import { percy, percyBackup } from './percy.ts';

interface ManifestOptions {
  /** What coder and librarian may read. */
  readonly folder: string;
  /** Where the samples that serve HTTP are. */
  readonly urls: { readonly percy: string; readonly librarian: string };
  /** Arguments of every script. */
  readonly args: readonly string[];
}

export function sampleManifests({ folder, urls, args }: ManifestOptions): ManifestInput[] {
  const coder = createCoder(folder);
  const librarian = createLibrarian(folder);
  return [
    toManifest(percy, {
      endpoint: { transport: 'http', uri: urls.percy },
      tags: ['sample', 'text'],
      fallbacks: ['percy-backup'],
    }),
    toManifest(percyBackup, {
      endpoint: { transport: 'stdio', ...sampleScript('percy-backup', ...args) },
      tags: ['sample', 'text', 'backup'],
    }),
    toManifest(coder, {
      endpoint: {
        transport: 'process',
        ...sampleScript('coder', ...args),
        options: { pooled: true, cwd: folder },
      },
      tags: ['sample', 'source'],
    }),
    toManifest(librarian, {
      endpoint: { transport: 'http', protocol: 'http', uri: urls.librarian },
      tags: ['sample', 'docs'],
    }),
    // Less trusted than the others, so that calls reach it only when they name it.
    toManifest(flaky, {
      endpoint: { transport: 'process', ...sampleScript('flaky'), options: { grace_ms: 200 } },
      trust_tier: 'partner',
      tags: ['sample', 'demo'],
      fallbacks: ['percy-backup'],
      timeoutMs: 2_000,
    }),
  ];
}

type Place = Pick<ManifestInput, 'endpoint' | 'tags' | 'fallbacks' | 'trust_tier'>;

interface SamplePlace extends Place {
  /** How long one attempt usually may take. */
  readonly timeoutMs?: number;
}

/** The manifest of a sample, with the schemas it checks its input and output by. */
function toManifest(card: AgentCard, { timeoutMs, ...place }: SamplePlace): ManifestInput {
  const { id, capability, description, input, output } = card;
  return {
    agent_id: id,
    version: '0.1.0',
    description,
    trust_tier: 'local',
    ...place,
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
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, override: dropSafeInteger });
  return { ...rest };
}

/** Says nothing that a reader of the schema would want to know. */
function dropSafeInteger({ jsonSchema }: { jsonSchema: { maximum?: number } }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

export interface Script {
  readonly command: string;
  readonly args: string[];
}

/** How a sample's `main` is started: from source where this file is source, else as it was built. */
export function sampleScript(name: string, ...args: readonly string[]): Script {
  const ending = extname(import.meta.filename);
  const path = fileURLToPath(new URL(`./main${ending}`, import.meta.url));
  const conditions = ending === '.ts' ? ['--conditions=@starloom/source'] : [];
  return { command: process.execPath, args: [...conditions, path, name, ...args] };
}
