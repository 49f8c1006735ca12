import { closestWord } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toAnnotatedYaml } from '../src/annotated-yaml.ts';
import { toKey } from '../src/key-path.ts';
import { pickByOrigin } from '../src/origins.ts';
import { toConfigJsonSchema } from '../src/schema-shape.ts';
import { secret, toReferences } from '../src/secret.ts';
import { load } from './scratch.ts';

const schema = z.strictObject({
  listen: z.strictObject({ host: z.string().default('h'), port: z.int().default(1) }).prefault({}),
  keys: z.array(z.strictObject({ key: secret() })).default([]),
  tags: z.array(z.string()).default([]),
});
const TEXT = 'listen:\n  port: 80\nkeys:\n  - key: env:KEY\n';

it('a loaded value prints as YAML that says where each part came from', async () => {
  const { value, origins } = await load('c.yaml', TEXT, { schema, env: { KEY: 'hunter2' } });
  expect(toAnnotatedYaml(value, origins)).toBe(
    [
      'listen:',
      '  host: h # default',
      '  port: 80 # c.yaml:2:9',
      'keys:',
      '  - key: env:KEY # c.yaml:4:10',
      '# default',
      'tags: []',
      '',
    ].join('\n'),
  );
});

it('what came from the file can be picked, and printed without a secret', async () => {
  const { value, origins } = await load('c.yaml', TEXT, { schema, env: { KEY: 'hunter2' } });
  const picked = pickByOrigin(value, origins, ({ kind }) => kind === 'file');
  expect(toReferences(picked)).toEqual({ listen: { port: 80 }, keys: [{ key: 'env:KEY' }] });
  expect(toAnnotatedYaml(picked)).toBe('listen:\n  port: 80\nkeys:\n  - key: env:KEY\n');
});

it('the JSON Schema describes the file, with references as the form of a secret', () => {
  const json = toConfigJsonSchema(schema, { name: 'c', title: 'c.yaml' });
  expect(json).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:starloom:schema:c',
    title: 'c.yaml',
    additionalProperties: false,
    properties: {
      $schema: { type: 'string' },
      keys: { items: { properties: { key: { type: 'string', pattern: expect.any(String) } } } },
    },
  });
});

it('a key path is written as people would', () => {
  expect(toKey(['auth', 'psk', 0, 'key'])).toBe('auth.psk[0].key');
  expect(toKey([1, 'x-y', 'a.b', ''])).toBe('[1].x-y["a.b"][""]');
  expect(toKey([])).toBe('');
});

describe('the closest word', () => {
  it.each([
    ['prot', 'port'],
    ['PORT', 'port'],
    ['bodyBytes', 'body_bytes'],
    ['tool-names', 'tool_names'],
    ['hots', 'host'],
  ])('to %s is %s', (word, expected) => {
    const known = ['host', 'port', 'body_bytes', 'tool_names'];
    expect(closestWord(word, known)).toBe(expected);
  });

  it.each(['x', 'completely-else', ''])('to %j is none', (word) => {
    expect(closestWord(word, ['host', 'port', 'a'])).toBeUndefined();
  });
});
