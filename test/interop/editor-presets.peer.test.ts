// Every preset of `starloom agents add --acp`, started as it stands: its package is there, and the
// program answers `initialize`. No prompt is sent, so that no login is needed.

import { homedir } from 'node:os';
import { join } from 'node:path';
import { EDITOR_AGENT_PRESETS, type EditorAgentName, openAdapter } from '@starloom/adapters';
import { silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import {
  describeWithPeer,
  findProgram,
  type ProgramResult,
  temporaryFolder,
} from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { writeInto } from './agent-home.ts';

const NAMES = Object.keys(EDITOR_AGENT_PRESETS) as EditorAgentName[];
const MODEL = { name: 'stub', baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'none', models: ['stub'] };

describe.each(NAMES)('editor agent preset %s', (name) => {
  const { command, args } = EDITOR_AGENT_PRESETS[name];

  const prepare = async (): Promise<ProgramResult> => {
    const path = await findProgram([command]);
    if (path !== undefined) return { found: true, path };
    const howToInstall = command === 'uvx' ? 'pip install uv' : `put ${command} on PATH`;
    return { found: false, reason: `there is no ${command}`, howToInstall };
  };

  describeWithPeer(name, prepare, (path) => {
    it('can be installed and answers initialize', { timeout: 300_000 }, async () => {
      await using home = await temporaryFolder();
      // nanocoder starts only where it finds a model.
      const config = JSON.stringify({ nanocoder: { providers: [MODEL] } });
      await writeInto(join(home.path, 'agents.config.json'), config);
      const manifest = exampleManifest({
        capabilities: undefined,
        endpoint: {
          transport: 'stdio',
          protocol: 'agent-client-protocol',
          command: path,
          args: [...args],
          env: {
            HOME: home.path,
            npm_config_userconfig: join(homedir(), '.npmrc'),
            npm_config_cache: join(homedir(), '.npm'),
          },
          options: { cwd: home.path, start_timeout_ms: 280_000 },
        },
      });
      const adapter = await openAdapter({ manifest, log: silentLog });
      try {
        const { signal } = new AbortController();
        const { capabilities } = await adapter.describe({ signal, log: silentLog });
        expect(capabilities.map(({ name }) => name)).toContain('prompt');
      } finally {
        await adapter.close();
      }
    });
  });
});
