import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { FabricError } from '@starloom/core';
import { parseAgentConfig } from '@starloom/runtime';
import type { Terminal } from '../terminal.ts';
import type { InitOptions } from './agent.ts';
import { findAgentSchemas } from './agent-schemas.ts';
import { type AgentAnswers, agentFile, agentToml, DEFAULT_PLUGINS } from './agent-template.ts';

/** Both files or neither, and never over what is there. */
export async function initAgent(
  terminal: Terminal,
  folder: string,
  { name, yes, force, json = false }: InitOptions,
): Promise<void> {
  const path = resolve(terminal.cwd, folder);
  const files = ['agent.json', 'agent.toml'].map((file) => join(folder, file));
  const there = files.find((file) => existsSync(resolve(terminal.cwd, file)));
  if (there !== undefined && !force) throw alreadyThere(there);
  const defaults = {
    name: name ?? basename(path) ?? 'agent',
    purpose: '',
    plugins: DEFAULT_PLUGINS,
  };
  const mayAsk = !yes && !json && process.stdin.isTTY && process.stderr.isTTY;
  const answers = mayAsk ? await ask(defaults, name === undefined) : defaults;
  const agent = agentFile(answers);
  await parseAgentConfig({ agent, folder: path }, terminal.env);
  const schemas = findAgentSchemas(path);
  const $schema = schemas && { $schema: schemas.json };
  const text = JSON.stringify({ ...$schema, ...agent }, null, 2);
  const texts = [`${text}\n`, agentToml(schemas?.toml)];
  await write(path, files, texts, force === true);
  if (json) terminal.print(JSON.stringify({ name: agent.name, files }));
  else terminal.tell(nextSteps(agent.name, files, folder));
}

async function ask(defaults: AgentAnswers, asksName: boolean): Promise<AgentAnswers> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const left = new AbortController();
  lines.once('close', () => left.abort());
  const question = async (text: string, otherwise: string) => {
    const shown = otherwise === '' ? '' : ` (${otherwise})`;
    const answer = await lines.question(`${text}${shown}: `, { signal: left.signal });
    return answer.trim() || otherwise;
  };
  try {
    const name = asksName ? await question('What is it called', defaults.name) : defaults.name;
    const purpose = await question('What is it for', defaults.purpose);
    const plugins = await question('What may it use', defaults.plugins.join(', '));
    return { name, purpose, plugins: plugins.split(/[\s,]+/).filter((word) => word !== '') };
  } finally {
    lines.close();
  }
}

async function write(
  folder: string,
  files: readonly string[],
  texts: readonly string[],
  overwrite: boolean,
): Promise<void> {
  const flag = overwrite ? 'w' : 'wx';
  try {
    await mkdir(folder, { recursive: true });
    for (const [index, file] of files.entries()) {
      await writeFile(join(folder, basename(file)), texts[index] ?? '', { flag });
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new FabricError('BAD_INPUT', `Cannot write to ${folder} (${code})`, {
      details: { reason: 'not_writable', folder, fix: 'name a folder that you may write to' },
      cause,
    });
  }
}

function nextSteps(name: string, files: readonly string[], folder: string): string {
  const path = folder === '.' ? '' : ` ${folder}`;
  const option = folder === '.' ? '' : ` --agent ${folder}`;
  return [
    `${name} is ready: ${files.join(', ')}`,
    '',
    'Try next',
    `  starloom agent chat${path}`,
    `  starloom agent exec "/help"${option}`,
    `  starloom agent run${path} --mcp http --port 8765`,
    `  starloom agents add${path || ' .'}`,
    '',
    'It follows a script until "provider" in agent.json names a model, such as',
    '  {"kind": "openai-compatible", "base_url": "http://127.0.0.1:11434/v1", "model": "llama3.2"}',
  ].join('\n');
}

function alreadyThere(file: string): FabricError {
  return new FabricError('BAD_INPUT', `${file} is already there`, {
    details: { reason: 'exists', file, fix: 'name another folder, or overwrite it with --force' },
  });
}
