import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Capability,
  capabilitySchema,
  type Manifest,
  type ManifestInput,
  manifestSchema,
  silentLog,
} from '@starloom/core';
import { toOffers } from '../../src/pinning/offer.ts';
import { Pinning, type PinningOptions } from '../../src/pinning/pinning.ts';
import { approveHeld, readPins } from '../../src/pinning/pins-file.ts';

export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'starloom-pins-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export async function openPinning(stateFolder: string, options: Partial<PinningOptions> = {}) {
  const pinning = await Pinning.open({ stateFolder, isStrict: false, log: silentLog, ...options });
  return Object.assign(pinning, { [Symbol.asyncDispose]: () => pinning.close() });
}

export function agent(manifest: Partial<ManifestInput> = {}): Manifest {
  return manifestSchema.parse({
    agent_id: 'files',
    endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/' },
    trust_tier: 'org',
    ...manifest,
  });
}

export function tool(name: string, description = 'Reads', more: object = {}): Capability {
  const input_schema = { type: 'object', properties: { path: { type: 'string' } } };
  return capabilitySchema.parse({ name, description, input_schema, ...more });
}

export function offersOf(manifest: Manifest, ...capabilities: Capability[]) {
  return toOffers(manifest, { capabilities }).offers;
}

/** As `starloom agents approve` does. */
export async function approveAll(folder: string, agentId: string): Promise<void> {
  const shown = (await readPins(folder)).find(({ agent_id }) => agent_id === agentId)?.held ?? [];
  await approveHeld(folder, { agentId, shown, by: 'test', now: Date.now() });
}
