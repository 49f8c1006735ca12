import type { ManifestInput } from '@starloom/core';
import { createCoder } from './coder/coder.ts';
import { flaky } from './flaky/flaky.ts';
import { createLibrarian } from './librarian/librarian.ts';
import { percy } from './percy/percy.ts';
import { percyBackup } from './percy-backup/percy-backup.ts';
import { sampleScript } from './sample-script.ts';
import { toManifest } from './to-manifest.ts';

export interface ManifestOptions {
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
