import { resolve } from 'node:path';
import { type ManifestInput, manifestSchema } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { withOwnCommand } from '../src/own-command.ts';
import { LAUNCHER } from './run-starloom.ts';

const FOLDER = resolve('/srv/agents');
const where = { folder: FOLDER, env: { STARLOOM_HOME: '/srv/state' } };

function endpointOf(endpoint: ManifestInput['endpoint'], env = where.env) {
  const manifest = manifestSchema.parse({ agent_id: 'a', endpoint });
  return withOwnCommand(manifest, { ...where, env }).endpoint;
}

const own = (...args: string[]) => ({ transport: 'stdio', command: 'starloom', args }) as const;

describe('an agent whose command is starloom', () => {
  it('is run by this very program, its path taken from the folder of the configuration', () => {
    expect(endpointOf(own('agent', 'run', './coder', '--mcp', 'stdio'))).toEqual({
      transport: 'stdio',
      command: process.execPath,
      args: [LAUNCHER, 'agent', 'run', resolve(FOLDER, 'coder'), '--mcp', 'stdio'],
      env: { STARLOOM_HOME: '/srv/state' },
    });
  });

  it.each([
    ['without a path', ['agent', 'run', '--mcp', 'stdio']],
    ['that is a gateway', ['up', '--stdio']],
    ['without arguments', []],
  ])('keeps the arguments of one %s', (_, args) => {
    expect(endpointOf(own(...args)).args).toEqual([LAUNCHER, ...args]);
  });

  it('may have a state folder of its own', () => {
    const endpoint = { ...own('up', '--stdio'), env: { STARLOOM_HOME: '/elsewhere' } };
    expect(endpointOf(endpoint).env).toEqual({ STARLOOM_HOME: '/elsewhere' });
  });

  it('leaves every other agent as it is', () => {
    const manifest = manifestSchema.parse({
      agent_id: 'a',
      endpoint: { transport: 'stdio', command: 'npx', args: ['agent', 'run', './coder'] },
    });
    expect(withOwnCommand(manifest, where)).toBe(manifest);
  });
});
