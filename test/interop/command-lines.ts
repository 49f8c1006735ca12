// Command lines of other projects that answer one prompt, each set up so that its model is the server
// of a test. Their packages bring programs per platform; scripts of the packages are not run.

import { join } from 'node:path';
import type { ManifestInput } from '@starloom/core';
import type { ProgramResult } from '@starloom/testkit';
import { type AgentHome, KEY, npm, writeCodexConfig, writeInto } from './agent-home.ts';

export interface CommandLine {
  readonly name: string;
  readonly prepare: () => Promise<ProgramResult>;
  readonly endpoint: (place: AgentHome) => Promise<ManifestInput['endpoint']>;
  /** What makes its model use a tool that needs no one's consent here. */
  readonly tool: string;
  readonly keepsConversations: boolean;
}

const PLATFORM = `${process.platform}-${process.arch}`;

export const COMMAND_LINES: readonly CommandLine[] = [
  {
    name: 'claude',
    ...npm('@anthropic-ai/claude-code@2.1.325'),
    keepsConversations: true,
    tool: 'USE Bash {"command":"echo used","description":"say"}.',
    endpoint: async ({ modules, home, model }) =>
      program({
        preset: 'claude',
        command: join(modules, `@anthropic-ai/claude-code-${PLATFORM}/claude`),
        args: ['--allowedTools', 'Bash'],
        home,
        env: { ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: KEY },
      }),
  },
  {
    name: 'codex',
    ...npm('@openai/codex@0.166.0'),
    keepsConversations: true,
    tool: 'USE exec_command {"cmd":"echo used"}.',
    async endpoint({ modules, home, model }) {
      await writeCodexConfig(home, model, 'STUB_KEY');
      return program({
        preset: 'codex',
        command: join(modules, '.bin/codex'),
        args: ['--dangerously-bypass-approvals-and-sandbox'],
        home,
        env: { STUB_KEY: KEY },
      });
    },
  },
  {
    name: 'gemini',
    ...npm('@google/gemini-cli@0.61.0'),
    keepsConversations: false,
    tool: 'USE write_file {"file_path":"made.txt","content":"used"}.',
    async endpoint({ modules, home, model }) {
      const settings = { security: { auth: { selectedType: 'gemini-api-key' } } };
      await writeInto(join(home, '.gemini/settings.json'), JSON.stringify(settings));
      return program({
        preset: 'gemini',
        command: join(modules, '.bin/gemini'),
        args: ['-m', 'gemini-2.5-flash', '--approval-mode', 'yolo'],
        home,
        env: {
          GOOGLE_GEMINI_BASE_URL: model,
          GEMINI_API_KEY: KEY,
          GEMINI_CLI_TRUST_WORKSPACE: 'true',
        },
      });
    },
  },
  {
    name: 'opencode',
    ...npm('opencode-ai@1.18.33'),
    keepsConversations: true,
    tool: 'USE bash {"command":"echo used","description":"say"}.',
    async endpoint({ modules, home, model }) {
      const provider = {
        npm: '@ai-sdk/openai-compatible',
        name: 'stub',
        options: { baseURL: `${model}/v1`, apiKey: KEY },
        models: { stub: { name: 'stub' } },
      };
      const config = { model: 'stub/stub', small_model: 'stub/stub', provider: { stub: provider } };
      await writeInto(join(home, '.config/opencode/opencode.json'), JSON.stringify(config));
      return program({
        preset: 'opencode',
        command: join(modules, `opencode-${PLATFORM}/bin/opencode`),
        home,
        env: {},
      });
    },
  },
];

interface ProgramOptions {
  readonly preset: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

function program({ preset, command, args = [], home, env }: ProgramOptions) {
  return {
    transport: 'process' as const,
    command,
    args: [...args],
    env: {
      ...env,
      HOME: home,
      XDG_CONFIG_HOME: join(home, '.config'),
      XDG_DATA_HOME: join(home, '.data'),
    },
    options: { preset, cwd: home },
  };
}
