import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { type AgentFileInput, openAgent } from '../../src/index.ts';
import { textOf } from '../core/world.ts';

const SCRIPTED = { kind: 'scripted' as const, script: ['Hello.'] };

interface Given {
  readonly files?: Record<string, string>;
  readonly plugins: NonNullable<AgentFileInput['plugins']>;
  readonly provider?: AgentFileInput['provider'];
  readonly system_prompt?: string;
}

/** Opens an agent in a folder with these files, and lets `use` look at it. */
async function withAgent<T>(
  { files = {}, provider = SCRIPTED, ...rest }: Given,
  use: (agent: Awaited<ReturnType<typeof openAgent>>, folder: string) => Promise<T> | T,
): Promise<T> {
  await using folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), text);
  }
  const config = { agent: { name: 'tester', provider, ...rest }, folder: folder.path };
  await using agent = await openAgent({ config });
  return await use(agent, folder.path);
}

function plugin(setup: string): string {
  return `export default { name: 'mine', setup: ${setup} };`;
}

const TOOL = `{ name: 'mine:greet', description: 'Greets.', effect: 'read', untrusted: false,
  parameters: { type: 'object', properties: { who: { type: 'string' } } },
  execute: ({ who }) => 'Hello ' + who }`;

/** As the standard protocol writes them: nothing of the sdk, no id of a call, nothing but prompt and tools. */
const SEED_TOOL = `{
  name: 'get_weather',
  description: 'Says what the weather is.',
  parameters: { type: 'object', properties: { location: { type: 'string' } } },
  async execute(args) { return '25°C, Sunny in ' + args.location; },
}`;
const SEED_PROVIDER = `{
  name: 'by-the-protocol',
  prompts: [],
  async generate(prompt, context) {
    this.prompts.push(prompt);
    if (this.prompts.length > 1) return { segments: [{ type: 'text', text: JSON.stringify(this.prompts) }] };
    const name = [...context.tools.keys()][0] ?? 'get_weather';
    return {
      segments: [
        { type: 'text', text: 'Sure, let me check.' },
        { type: 'tool_call', toolCall: { name, args: { location: 'Taipei' } } },
      ],
    };
  },
}`;

describe('loading plugins', () => {
  it('finds a built-in plugin by its name', async () => {
    await withAgent(
      { plugins: [{ name: 'time' }, { name: 'fs', config: { roots: ['.'] } }] },
      (agent) => {
        expect([...agent.tools().keys()]).toContain('fs:read_file');
      },
    );
  });

  it('finds a file and an npm package from the folder of the agent, and gives each its config', async () => {
    const files = {
      'my-tools.mjs': plugin(
        `(config, host) => ({ tools: [{ ...${TOOL}, description: config.greeting + host.folder }] })`,
      ),
      'node_modules/their-tools/package.json':
        '{"name":"their-tools","exports":"./main.mjs","type":"module"}',
      'node_modules/their-tools/main.mjs': plugin(
        `() => ({ tools: [{ ...${TOOL}, name: 'their:greet' }] })`,
      ),
    };
    const plugins = [
      { name: './my-tools.mjs', config: { greeting: 'Hi from ' } },
      { name: 'their-tools' },
    ];
    await withAgent({ files, plugins }, async (agent, folder) => {
      expect(agent.tools().get('mine:greet')?.description).toBe(`Hi from ${folder}`);
      expect(textOf((await agent.turn('/their:greet you')).segments)).toBe('Hello you');
    });
  });

  it('lets a plugin bring the provider', async () => {
    const files = {
      'model.mjs': plugin(
        `() => ({ providers: [{ name: 'mine', generate: async () => ({ segments: [{ type: 'text', text: 'Mine.' }] }) }] })`,
      ),
    };
    const plugins = [{ name: './model.mjs' }];
    await withAgent(
      { files, plugins, provider: { kind: 'plugin', name: 'mine' } },
      async (agent) => {
        expect(textOf((await agent.turn('Hi.')).segments)).toBe('Mine.');
      },
    );
    const missing = withAgent(
      { files, plugins, provider: { kind: 'plugin', name: 'mime' } },
      () => {},
    );
    await expect(missing).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'no_such_provider', fix: 'write "mine"' },
    });
  });

  describe.each([
    ['a file', './$.mjs', '$.mjs'],
    ['an npm package', '$', 'node_modules/$/index.mjs'],
  ])('a plugin of the standard protocol alone is loaded as %s', (_, name, path) => {
    const at = (pattern: string, word: string) => pattern.replaceAll('$', () => word);
    const given = (exported: (value: string) => string): Given => ({
      files: {
        ...Object.fromEntries(
          ['weather', 'model'].map((word) => [
            `node_modules/${word}/package.json`,
            `{"name":"${word}","type":"module","exports":"./index.mjs"}`,
          ]),
        ),
        [at(path, 'weather')]: exported(SEED_TOOL),
        [at(path, 'model')]: exported(SEED_PROVIDER),
      },
      plugins: [{ name: at(name, 'weather') }, { name: at(name, 'model') }],
      provider: { kind: 'plugin', name: 'by-the-protocol' },
    });

    it.each([
      ['the default export', (value: string) => `export default ${value};`],
      ['a named export', (value: string) => `export const anything = ${value};`],
    ])(
      '[P12] a tool and a provider work, and the prompt of round two holds the result: %s',
      async (_how, exported) => {
        await withAgent(given(exported), async (agent) => {
          const { segments, steps } = await agent.turn('Query weather in Taipei');
          expect(steps).toBe(2);
          const asked: string[] = JSON.parse(textOf(segments));
          expect(asked[0]).toBe('Query weather in Taipei');
          expect(asked[1]).toContain('Query weather in Taipei');
          expect(asked[1]).toContain('Sure, let me check.');
          expect(asked[1]).toContain('get_weather {"location":"Taipei"}');
          expect(asked[1]).toContain('25°C, Sunny');
        });
      },
    );
  });

  it('[P12] shows a provider of the protocol a missing tool, the system prompt and what was said before', async () => {
    const files = { 'model.mjs': `export default ${SEED_PROVIDER};` };
    const provider = { kind: 'plugin' as const, name: 'by-the-protocol' };
    const plugins = [{ name: './model.mjs' }];
    await withAgent({ files, plugins, provider, system_prompt: 'Be brief.' }, async (agent) => {
      const first = await agent.turn('Query weather in Taipei', { sessionId: 'one' });
      const [asked, again] = JSON.parse(textOf(first.segments));
      expect(asked).toBe('Be brief.\n\nQuery weather in Taipei');
      expect(again).toMatch(/get_weather.*does not exist|no tool.*get_weather/is);
      const later = await agent.turn('And in Rome?', { sessionId: 'one' });
      const prompts: string[] = JSON.parse(textOf(later.segments));
      expect(prompts[2]).toContain('Query weather in Taipei');
      expect(prompts[2]).toMatch(/And in Rome\?$/);
    });
  });

  it('closes what a plugin has opened, once, when the agent ends', async () => {
    const closed = `globalThis.closedPlugins = (globalThis.closedPlugins ?? 0) + 1`;
    const files = { 'a.mjs': plugin(`() => ({ close: async () => { ${closed} } })`) };
    await withAgent({ files, plugins: [{ name: './a.mjs' }] }, async (agent) => {
      expect(Reflect.get(globalThis, 'closedPlugins')).toBeUndefined();
      await agent.close();
    });
    expect(Reflect.get(globalThis, 'closedPlugins')).toBe(1);
    Reflect.deleteProperty(globalThis, 'closedPlugins');
  });

  it.each([
    ['not_found', undefined, './missing.mjs'],
    ['not_found', undefined, 'no-such-package'],
    ['import_failed', 'export default {', './a.mjs'],
    ['import_failed', "throw new Error('no key')", './a.mjs'],
    ['no_plugin', 'export const answer = 42;', './a.mjs'],
    ['setup_failed', plugin("() => { throw new Error('no disk') }"), './a.mjs'],
    ['setup_failed', plugin("async () => { throw new Error('no disk') }"), './a.mjs'],
    ['bad_tool', plugin('() => ({ tools: [{ name: "x" }] })'), './a.mjs'],
    ['bad_tool', plugin('() => ({ tools: [null] })'), './a.mjs'],
    [
      'bad_schema',
      plugin(`() => ({ tools: [{ ...${TOOL}, parameters: { type: 'objekt' } }] })`),
      './a.mjs',
    ],
    ['same_tool', plugin(`() => ({ tools: [${TOOL}, ${TOOL}] })`), './a.mjs'],
  ])('stops the start for %s, naming plugin, cause and fix', async (problem, text, name) => {
    const files = text === undefined ? {} : { 'a.mjs': text };
    await expect(withAgent({ files, plugins: [{ name }] }, () => {})).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining(`"${name}"`),
      details: { plugin: name, problem, why: expect.any(String), fix: expect.any(String) },
    });
  });

  it('says what is wrong with the config of a plugin', async () => {
    const plugins = [{ name: 'fs', config: { root: ['.'] } }];
    await expect(withAgent({ plugins }, () => {})).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { plugin: 'fs', problem: 'bad_config', why: expect.stringContaining('root') },
    });
  });
});
