import { describe, expect, it } from 'vitest';
import { answers, call, connect, openTestGateway, type TestAgent } from './test-gateway.ts';

const agent = (input_schema: Record<string, unknown>): TestAgent => ({
  run: answers('done'),
  manifest: { capabilities: [{ name: 'work', input_schema }] },
});

const toBad = (args: Record<string, unknown>) => ({
  agent_id: 'bad',
  capability: 'work',
  arguments: args,
});

describe('hostile schemas of agents', () => {
  it('refuse the call, and leave every other tool listed and usable', async () => {
    await using gateway = await openTestGateway({
      bad: agent({ type: 'object', properties: { a: { $ref: 'http://127.0.0.1:1/a.json' } } }),
      good: agent({ type: 'object', properties: { a: { type: 'string' } } }),
    });
    await using client = await connect(gateway.url);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['bad.work', 'good.work']),
    );
    const refused = await call(client, 'fabric.call', toBad({ a: 'x' }));
    expect(refused.payload.error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'bad_input_schema', capability: 'work', fix: expect.any(String) },
    });
    expect((await call(client, 'good.work', { a: 'x' })).result.isError).toBeUndefined();
  });

  it.each([
    [
      'a pattern that backtracks',
      { a: { type: 'string', pattern: '^(a+)+$' } },
      `${'a'.repeat(34)}!`,
    ],
    [
      'unique items',
      { a: { type: 'array', uniqueItems: true } },
      Array.from({ length: 60_000 }, (_, index) => ({ index: Math.max(index, 1) })),
    ],
    ['branches that multiply', { a: doubling(30) }, 'text'],
  ])('take no time of others by %s', async (_, properties, a) => {
    await using gateway = await openTestGateway({ bad: agent({ type: 'object', properties }) });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', toBad({ a }));
    expect(payload.error.code).toMatch(/^(BAD_INPUT|UPSTREAM_ERROR)$/);
  });
});

/** Each level holds the one below twice. */
function doubling(levels: number): Record<string, unknown> {
  const $defs: Record<string, unknown> = { d0: { type: 'number' } };
  for (let level = 1; level <= levels; level += 1) {
    const $ref = `#/properties/a/$defs/d${level - 1}`;
    $defs[`d${level}`] = { anyOf: [{ $ref }, { $ref }] };
  }
  return { $defs, $ref: `#/properties/a/$defs/d${levels}` };
}
