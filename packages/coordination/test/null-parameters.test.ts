import { expect, it, test } from 'vitest';
import type { z } from 'zod';
import { EXAMPLES } from '../../../scripts/coordination-examples.ts';
import { METHODS } from '../src/index.ts';
import { World } from './support/world.ts';

test.each(Object.entries(METHODS))(
  '%s takes null for a parameter that may be left out, and for no other',
  (methodName, method) => {
    const example = EXAMPLES[methodName]?.params ?? {};
    const shape: Record<string, z.ZodType> = method.params.shape;
    const names = Object.keys(shape).filter(
      (name) => shape[name]?.safeParse(null).success !== true,
    );
    const isOptional = (name: string) => shape[name]?.safeParse(undefined).success === true;
    const leftOut = names.filter((name) => isOptional(name) && !(name in example));
    const nulls = Object.fromEntries(leftOut.map((name) => [name, null]));
    expect(leftOut.length).toBeGreaterThan(0);
    expect(method.parse({ ...example, ...nulls })).toEqual(method.parse(example));
    for (const name of names.filter((each) => !isOptional(each))) {
      expect(() => method.parse({ ...example, ...nulls, [name]: null }), name).toThrow(`"${name}"`);
    }
  },
);

it('keeps null where it is a value, and leaves out what is null beside it', async () => {
  await using world = new World();
  const a = await world.agent('a');
  const name = { tool: 'search', params: null, session_id: null, tool_version: null };
  const put = await a.peer.handle({
    jsonrpc: '2.0',
    id: 1,
    method: 'tool_cache.put',
    params: { ...name, result: null, ttl_ms: null, agent_id: null },
  });
  expect(put).toMatchObject({ result: { stored: true } });
  expect(await a.call('tool_cache.get', { tool: 'search', params: null })).toMatchObject({
    hit: true,
    result: null,
    agent_id: 'a',
  });
  expect(await a.call('tool_cache.get', { tool: 'search', params: {} })).toMatchObject({
    hit: false,
  });
});
