import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  AgentPainException,
  definePlugin,
  defineProvider,
  defineTool,
  type IProvider,
  type ITool,
  type PluginHost,
  type ProviderEvent,
  type ToolContext,
} from '../src/index.ts';

const CONTEXT: ToolContext = {
  signal: new AbortController().signal,
  sessionId: 's',
  trace: { trace_id: 't', span_id: 'p' },
  hop: { depth: 1, chain: [] },
  progress: () => {},
};
const HOST: PluginHost = { folder: '/agent', env: {}, warn: () => {} };

describe('a tool with a zod schema', () => {
  const tool = defineTool({
    name: 'math:add',
    description: 'Adds',
    command: 'add',
    effect: 'read',
    parameters: z.object({ a: z.number().describe('One'), b: z.number().default(1) }),
    execute: ({ a, b }) => {
      expectTypeOf(b).toEqualTypeOf<number>();
      return String(a + b);
    },
  });

  it('shows what callers may send as JSON Schema, defaults not demanded', () => {
    expect(tool.parameters).toMatchObject({
      type: 'object',
      properties: { a: { type: 'number', description: 'One' }, b: { default: 1 } },
      required: ['a'],
    });
    expect(tool.parameters).not.toHaveProperty('$schema');
  });

  it('runs on parsed arguments', async () => {
    expect(await tool.execute({ a: 2 } as never, CONTEXT)).toBe('3');
  });

  it('does not run on others', () => {
    expect(() => tool.execute({ a: 'two' } as never, CONTEXT)).toThrow(z.ZodError);
  });

  it('keeps its options', () => {
    expect(tool).toMatchObject({ name: 'math:add', command: 'add', effect: 'read' });
  });
});

describe('a tool with a JSON Schema', () => {
  it('is taken as it is, arguments untouched', async () => {
    const parameters = { type: 'object', properties: { path: { type: 'string' } } };
    const tool = defineTool<{ path: string }>({
      name: 'fs:read',
      description: 'Reads',
      parameters,
      execute: ({ path }) => path,
    });
    expect(tool.parameters).toBe(parameters);
    expect(await tool.execute({ path: 'a' } as never, CONTEXT)).toBe('a');
  });

  it('may be written after the document alone', () => {
    const tool: ITool = {
      name: 'read',
      description: 'Reads',
      parameters: {},
      execute: () => 'text',
    };
    expect(tool.execute({} as never, CONTEXT)).toBe('text');
  });
});

describe('a provider from its stream', () => {
  const stream = async function* (prompt: string): AsyncGenerator<ProviderEvent> {
    yield { type: 'text', text: 'You said ' };
    yield { type: 'text', text: prompt };
    yield { type: 'finish', metadata: { finishReason: 'stop' } };
  };

  it('answers at once with what it would have streamed', async () => {
    const provider = defineProvider({ name: 'echo', stream });
    expect(await provider.generate('hi', { tools: new Map() })).toEqual({
      segments: [{ type: 'text', text: 'You said hi' }],
      metadata: { finishReason: 'stop' },
    });
    expectTypeOf(provider).toExtend<IProvider>();
  });

  it('fails as its stream does', async () => {
    const provider = defineProvider({
      name: 'broken',
      // biome-ignore lint/correctness/useYield: it fails before its first word.
      async *stream() {
        throw new AgentPainException('garbage', { details: { at: 7 } });
      },
    });
    const failing = provider.generate('hi', { tools: new Map() });
    await expect(failing).rejects.toMatchObject({
      name: 'AgentPainException',
      details: { at: 7 },
    });
  });
});

describe('a plugin', () => {
  const plugin = definePlugin({
    name: 'greet',
    config: z.strictObject({ word: z.string().default('Hello') }),
    setup: ({ word }, { folder }) => ({
      tools: [
        defineTool({
          name: 'greet:say',
          description: `${word} from ${folder}`,
          parameters: z.object({}),
          execute: () => word,
        }),
      ],
    }),
  });

  it('is set up with parsed configuration and its host', async () => {
    const { tools } = await plugin.setup({ word: 'Hi' }, HOST);
    expect(tools?.[0]?.description).toBe('Hi from /agent');
  });

  it('may be named without any', async () => {
    const { tools } = await plugin.setup(undefined, HOST);
    expect(tools?.[0]?.description).toBe('Hello from /agent');
  });

  it('refuses what its schema does not know', () => {
    expect(() => plugin.setup({ wrod: 'Hi' }, HOST)).toThrow(z.ZodError);
  });
});
