import { fileURLToPath } from 'node:url';
import type { ManifestInput } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { KeptServer } from '../src/kept-server.ts';
import { openAgent } from './fixtures/open-agent.ts';
import { recordingLog } from './fixtures/recording-log.ts';

const PATH = fileURLToPath(new URL('./fixtures/endless.ts', import.meta.url));

function script(wire: string) {
  return { command: process.execPath, args: ['--conditions=@starloom/source', PATH, wire] };
}

function manifest(endpoint: ManifestInput['endpoint']): ManifestInput {
  return { agent_id: 'endless', endpoint, capabilities: [{ name: 'talk', streaming: true }] };
}

describe('a caller that leaves in the middle of a stream', () => {
  it.each([
    ['http', { protocol: 'http' }],
    ['mcp-http', {}],
  ])('stops the work of an agent behind %s', async (wire, how) => {
    const { log, lines } = recordingLog();
    await using server = await KeptServer.start({ name: 'endless', script: script(wire), log });
    await using agent = await openAgent(manifest({ transport: 'http', uri: server.url, ...how }));
    expect((await agent.call('talk', { leaveEarly: true })).text).toBe('and ');
    await expect.poll(() => lines.some(({ line }) => line === 'stopped')).toBe(true);
  });

  it.each([
    ['mcp-stdio', { transport: 'stdio' as const }],
    ['lines', { transport: 'process' as const, options: { pooled: true } }],
  ])('stops the work of an agent behind %s', async (wire, how) => {
    const { log, lines } = recordingLog();
    await using agent = await openAgent(manifest({ ...how, ...script(wire) }), log);
    expect((await agent.call('talk', { leaveEarly: true })).text).toBe('and ');
    await expect.poll(() => lines.some(({ line }) => line === 'stopped')).toBe(true);
  });
});
