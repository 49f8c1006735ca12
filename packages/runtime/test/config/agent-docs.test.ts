import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toConfigJsonSchema } from '@starloom/config';
import { silentLog } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { agentFileSchema, agentTomlSchema } from '../../src/config/index.ts';
import { loadAgentConfig } from '../../src/config/load-agent-config.ts';
import { loadPlugins } from '../../src/config/load-plugins.ts';
import { BUILT_IN_PLUGINS } from '../../src/plugins/index.ts';

const page = readFileSync(new URL('../../../../docs/agents.md', import.meta.url), 'utf8');
const reference = readFileSync(
  new URL('../../../../docs/configuration.md', import.meta.url),
  'utf8',
);
const exampleOf = (language: string) =>
  new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(page)?.[1] ?? '';
const isNamed = (word: string, text = page) =>
  new RegExp(`\`[^\`\\n]*\\b${word}\\b[^\`\\n]*\``).test(text);

/** Every key that may stand in a file; what an answer of a script holds is its own affair. */
function keysOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, ...rest } = schema as { properties?: Record<string, unknown> };
  const own = Object.entries(properties).flatMap(([key, inner]) => [
    key,
    ...(key === 'script' ? [] : keysOf(inner)),
  ]);
  return [...own, ...Object.values(rest).flatMap(keysOf)];
}

describe('docs/agents.md', () => {
  it('shows files that are right', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'agent.json'), exampleOf('json'));
    await writeFile(join(folder.path, 'agent.toml'), exampleOf('toml'));
    await writeFile(join(folder.path, 'search.key'), 'Bearer of-nobody', { mode: 0o600 });
    const { agent, toml } = await loadAgentConfig(folder.path, { DOCS_TOKEN: 'x' });
    expect(agent.name).toBe('coder');
    expect(toml.mcp.servers.map(({ name }) => name)).toEqual(['docs', 'search']);
  });

  it.each([
    ['agent.json', agentFileSchema],
    ['agent.toml', agentTomlSchema],
  ])('names every key of %s, or docs/configuration.md does', (name, schema) => {
    const keys = keysOf(toConfigJsonSchema(schema, { name, title: name }));
    expect(keys.length).toBeGreaterThan(15);
    expect(keys.filter((key) => !isNamed(key.replace('$', ''), page + reference))).toEqual([]);
  });

  it('names every tool that is built in', async () => {
    await using folder = await temporaryFolder();
    const plugins = Object.keys(BUILT_IN_PLUGINS).map((name) => ({ name, config: {} }));
    const { sources } = await loadPlugins(plugins, {
      builtIn: BUILT_IN_PLUGINS,
      folder: folder.path,
      env: {},
      log: silentLog,
    });
    const tools = sources.flatMap((source) => source.list().map(({ name }) => name));
    await Promise.all(sources.map((source) => source.close()));
    expect(tools.length).toBeGreaterThan(15);
    expect(tools.filter((name) => !isNamed(name))).toEqual([]);
  });
});
