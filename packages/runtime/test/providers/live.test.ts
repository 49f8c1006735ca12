import { Secret } from '@starloom/config';
import { silentLog } from '@starloom/core';
import { foldEvents, type ITool } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { openProvider, type ProviderConfig } from '../../src/providers/index.ts';

interface LiveModel {
  readonly name: string;
  /** Asked only when it is set: these questions cost money. */
  readonly variable: string;
  config(value: string): ProviderConfig;
}

const { env } = process;
const LIVE_MODELS: readonly LiveModel[] = [
  vendor('OpenAI responses', 'OPENAI_API_KEY', {
    package: '@ai-sdk/openai',
    model: env.STARLOOM_LIVE_OPENAI_MODEL ?? 'gpt-5-mini',
  }),
  vendor('OpenAI chat', 'OPENAI_API_KEY', {
    package: '@ai-sdk/openai',
    model: env.STARLOOM_LIVE_OPENAI_MODEL ?? 'gpt-5-mini',
    api: 'chat',
  }),
  vendor('Anthropic', 'ANTHROPIC_API_KEY', {
    package: '@ai-sdk/anthropic',
    model: env.STARLOOM_LIVE_ANTHROPIC_MODEL ?? 'claude-haiku-4-5',
  }),
  vendor('Gemini', 'GOOGLE_GENERATIVE_AI_API_KEY', {
    package: '@ai-sdk/google',
    model: env.STARLOOM_LIVE_GEMINI_MODEL ?? 'gemini-2.5-flash',
  }),
  {
    name: 'OpenAI-compatible',
    variable: 'STARLOOM_LIVE_BASE_URL',
    config: (base_url) => ({
      kind: 'openai-compatible',
      base_url,
      model: env.STARLOOM_LIVE_MODEL ?? 'llama3.2',
      ...(env.STARLOOM_LIVE_KEY && { api_key: new Secret('env:KEY', env.STARLOOM_LIVE_KEY) }),
    }),
  },
];
const WEATHER: ITool = {
  name: 'weather:now',
  description: 'Tells the weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  execute: () => 'never called here',
};
const PATIENCE_MS = 120_000;

const asked = LIVE_MODELS.filter(({ variable }) => isSet(variable));
const notAsked = LIVE_MODELS.filter(({ variable }) => !isSet(variable));

for (const { name, variable, config } of asked) {
  describe(`${name}, live`, () => {
    it('calls a tool by its own name, and answers with its result', {
      timeout: PATIENCE_MS,
    }, async () => {
      const host = { folder: import.meta.dirname, log: silentLog, env };
      const provider = await openProvider(config(env[variable] ?? ''), host);
      const tools = new Map([[WEATHER.name, WEATHER]]);
      const question = 'What is the weather in Taipei? Use the tool.';
      const said = foldEvents(await Array.fromAsync(provider.stream(question, { tools })));
      const call = said.segments.find(({ type }) => type === 'tool_call')?.toolCall;
      expect(call).toMatchObject({ name: WEATHER.name, args: { city: expect.any(String) } });

      const output = [{ type: 'text' as const, text: '31 °C and thunderstorms' }];
      const toolResult = { id: call?.id ?? '', name: WEATHER.name, output };
      const labels = { id: 'b', trust: 'vetted', type: 'data', source: 'live' } as const;
      const blocks = [
        { ...labels, role: 'user', segments: [{ type: 'text', text: question }] },
        { ...labels, role: 'assistant', segments: said.segments },
        { ...labels, role: 'tool', segments: [{ type: 'tool_result', toolResult }] },
      ] as const;
      const answer = await provider.generate('', { tools, blocks });
      expect(answer.segments.map(({ text }) => text).join('')).toContain('31');
      expect(answer.metadata?.usage?.inputTokens).toBeGreaterThan(0);
      await provider.close();
    });
  });
}

it('every live model can be opened, and those without a key are counted', async () => {
  const host = { folder: import.meta.dirname, log: silentLog, env: {} };
  for (const { config } of LIVE_MODELS) {
    const provider = await openProvider(config('http://127.0.0.1:9/v1'), host);
    expect(provider.name).toContain('/');
    await provider.close();
  }
  const missing = notAsked.map(({ name, variable }) => `${name} (set ${variable})`);
  const counts = `${asked.length} asked, ${missing.length} skipped`;
  console.info(`live models: ${counts}: ${missing.join(', ')}`);
});

function isSet(variable: string): boolean {
  return (env[variable] ?? '') !== '';
}

function vendor(
  name: string,
  variable: string,
  rest: { package: string; model: string; api?: 'chat' | 'responses' },
): LiveModel {
  return {
    name,
    variable,
    config: (key) => ({ kind: 'ai-sdk', ...rest, api_key: new Secret(`env:${variable}`, key) }),
  };
}
