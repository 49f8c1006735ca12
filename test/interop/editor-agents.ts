// Editor agents of other projects, each set up so that its model is the server of a test. They get a
// home folder of their own and no keys.

import { join } from 'node:path';
import type { ManifestInput } from '@starloom/core';
import type { ProgramResult } from '@starloom/testkit';
import { type AgentHome, KEY, npm, writeCodexConfig, writeInto } from './agent-home.ts';

export interface EditorAgent {
  readonly name: string;
  readonly prepare: () => Promise<ProgramResult>;
  readonly endpoint: (place: AgentHome) => Promise<ManifestInput['endpoint']>;
  /** What makes its model write "written" to the file "made.txt", where its tools work in a test. */
  readonly write?: string;
}

export const EDITOR_AGENTS: readonly EditorAgent[] = [
  {
    name: 'codex',
    ...npm('@zed-industries/codex-acp@0.16.0'),
    async endpoint({ modules, home, model }) {
      await writeCodexConfig(home, model, 'STUB_KEY');
      return program(modules, 'codex-acp', home, { STUB_KEY: KEY });
    },
  },
  {
    name: 'claude',
    ...npm('@agentclientprotocol/claude-agent-acp@0.99.1'),
    write: 'USE Bash {"command":"printf written > made.txt","description":"write"}.',
    async endpoint({ modules, home, model }) {
      const env = { ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: KEY };
      return program(modules, 'claude-agent-acp', home, env);
    },
  },
  {
    name: 'gemini',
    ...npm('@google/gemini-cli@0.61.0'),
    write: 'USE write_file {"file_path":"made.txt","content":"written"}.',
    async endpoint({ modules, home, model }) {
      const env = {
        GOOGLE_GEMINI_BASE_URL: model,
        GEMINI_API_KEY: KEY,
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
      };
      const endpoint = program(modules, 'gemini', home, env, ['--acp', '-m', 'gemini-2.5-flash']);
      // With a root it reads and writes through the gateway. A new file it could not create that way:
      // this version does not understand the answer that there is none yet.
      return {
        ...endpoint,
        options: { ...endpoint.options, auth_method: 'gemini-api-key', root: home },
      };
    },
  },
  {
    name: 'nanocoder',
    ...npm('@nanocollective/nanocoder@1.30.0'),
    write: 'USE execute_bash {"command":"printf written > made.txt"}.',
    async endpoint({ modules, home, model }) {
      const provider = { name: 'stub', baseUrl: `${model}/v1`, apiKey: KEY, models: ['stub'] };
      const config = { nanocoder: { providers: [provider] } };
      await writeInto(join(home, 'agents.config.json'), JSON.stringify(config));
      const endpoint = program(modules, 'nanocoder', home, {}, ['--acp']);
      return { ...endpoint, options: { ...endpoint.options, mode: 'normal' } };
    },
  },
];

function program(
  modules: string,
  command: string,
  home: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
) {
  return {
    transport: 'stdio' as const,
    protocol: 'agent-client-protocol',
    command: join(modules, '.bin', command),
    args: [...args],
    env: { ...env, HOME: home, XDG_CONFIG_HOME: join(home, '.config') },
    options: { cwd: home },
  };
}
