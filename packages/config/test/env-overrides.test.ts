import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../src/load-config.ts';
import { load, problemsFrom, problemsIn } from './scratch.ts';

const schema = z.strictObject({
  listen: z.strictObject({ host: z.string().default('h'), port: z.int().default(1) }).prefault({}),
  store: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('embedded'), beat_ms: z.int().default(30) }),
      z.strictObject({ kind: z.literal('redis'), url: z.string(), beat_ms: z.int().default(30) }),
    ])
    .prefault({ kind: 'embedded' }),
  keys: z
    .array(z.strictObject({ id: z.string(), scopes: z.array(z.string()).default([]) }))
    .default([]),
  otlp: z
    .strictObject({ url: z.string().nullable().default(null), on: z.boolean().default(false) })
    .prefault({}),
  options: z.record(z.string(), z.unknown()).default({}),
});

function loadWith(env: Record<string, string>) {
  return loadConfig({ schema, env, envPrefix: 'STARLOOM' });
}

describe('an environment variable with two underscores', () => {
  it('overrides the key it names, in any case, over the file', async () => {
    const env = { STARLOOM_LISTEN__PORT: '8080', STARLOOM_Listen__hOsT: 'example' };
    const { value } = await load('c.yaml', 'listen: {port: 1, host: x}', {
      schema,
      env,
      envPrefix: 'STARLOOM',
    });
    expect(value.listen).toEqual({ host: 'example', port: 8080 });
  });

  it('is text where the key takes text, and YAML where it takes more', async () => {
    const { value } = await loadWith({
      STARLOOM_LISTEN__HOST: '12345',
      STARLOOM_OTLP__URL: 'null',
      STARLOOM_OTLP__ON: 'true',
      STARLOOM_KEYS: '[{id: a, scopes: ["*"]}]',
      STARLOOM_OPTIONS__RETRIES: '3',
    });
    expect(value.listen.host).toBe('12345');
    expect(value.otlp).toEqual({ url: null, on: true });
    expect(value.keys).toBeDefined();
    expect(value.options).toEqual({ RETRIES: 3 });
  });

  it('without two underscores is no override', async () => {
    const env = {
      STARLOOM_HOME: '/x',
      STARLOOM_CONFIG: 'c',
      STARLOOM_URL: 'u',
      STARLOOM_KEY: 'k',
      STARLOOM_KEYS: 'x',
    };
    expect((await loadWith(env)).value.keys).toEqual([]);
  });

  it('reaches into lists by index, and may add one entry after the last', async () => {
    const env = { STARLOOM_KEYS__0__ID: 'b', STARLOOM_KEYS__1__ID: 'c' };
    const { value, origins } = await load('c.yaml', 'keys: [{id: a, scopes: [s]}]', {
      schema,
      env,
      envPrefix: 'STARLOOM',
    });
    expect(value.keys).toEqual([
      { id: 'b', scopes: ['s'] },
      { id: 'c', scopes: [] },
    ]);
    expect(origins.get('keys[0].id')).toEqual({ kind: 'env', name: 'STARLOOM_KEYS__0__ID' });
    expect(origins.get('keys[0].scopes[0]')).toMatchObject({ kind: 'file' });
  });

  it('starts from the default of a map that the file does not have', async () => {
    const { value, origins } = await loadWith({ STARLOOM_STORE__BEAT_MS: '5' });
    expect(value.store).toEqual({ kind: 'embedded', beat_ms: 5 });
    expect(origins.get('store.kind')).toEqual({ kind: 'default' });
  });

  it('may change the kind when it brings the keys of that kind', async () => {
    const { value } = await loadWith({
      STARLOOM_STORE__KIND: 'redis',
      STARLOOM_STORE__URL: 'redis://h',
    });
    expect(value.store).toEqual({ kind: 'redis', url: 'redis://h', beat_ms: 30 });
  });

  it('that is empty is left out, with a warning', async () => {
    const { value, warnings } = await loadWith({ STARLOOM_LISTEN__PORT: '' });
    expect(value.listen.port).toBe(1);
    expect(warnings).toMatchObject([{ file: '$STARLOOM_LISTEN__PORT', key: 'listen.port' }]);
  });

  it('is ignored when no prefix was asked for', async () => {
    const { value } = await loadConfig({ schema, env: { STARLOOM_LISTEN__PROT: 'x' } });
    expect(value.listen.port).toBe(1);
  });
});

describe('a bad variable', () => {
  const MISTAKES = [
    {
      name: 'a misspelt key',
      env: { STARLOOM_LISTEN__PROT: '1' },
      key: 'listen.prot',
      fix: /STARLOOM_LISTEN__PORT/,
    },
    {
      name: 'a misspelt section',
      env: { STARLOOM_LISTN__PORT: '1' },
      key: 'listn',
      fix: /STARLOOM_LISTEN/,
    },
    { name: 'an unknown section', env: { STARLOOM_QQQQ__X: '1' }, key: 'qqqq', fix: /unset/ },
    {
      name: 'a key below a scalar',
      env: { STARLOOM_LISTEN__PORT__X: '1' },
      key: 'listen.port.x',
      fix: /unset/,
    },
    {
      name: 'text for a number',
      env: { STARLOOM_LISTEN__PORT: 'http' },
      key: 'listen.port',
      fix: /whole number/,
    },
    { name: 'a gap in a list', env: { STARLOOM_KEYS__3__ID: 'x' }, key: 'keys[3].id', fix: /gaps/ },
    {
      name: 'a kind without its keys',
      env: { STARLOOM_STORE__KIND: 'redis' },
      key: 'store.url',
      fix: /add "url"/,
    },
    {
      name: 'a forbidden key',
      env: { STARLOOM_OPTIONS__CONSTRUCTOR: 'x' },
      key: 'options.constructor',
      fix: /unset/,
    },
  ];
  it.each(MISTAKES)('is named: $name', async ({ env, key, fix }) => {
    const problems = await problemsFrom(loadWith(env as unknown as Record<string, string>));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ file: `$${Object.keys(env)[0]}`, key });
    expect(problems[0]).not.toHaveProperty('line');
    expect(problems[0]?.fix).toMatch(fix);
  });

  it('comes after the problems of the file', async () => {
    const env = { STARLOOM_LISTEN__PORT: 'http' };
    const problems = await problemsIn('c.yaml', 'keys: 1', { schema, env, envPrefix: 'STARLOOM' });
    expect(problems.map(({ file }) => file)).toEqual(['c.yaml', '$STARLOOM_LISTEN__PORT']);
  });

  it('does not hide a mistake of the file around it', async () => {
    const env = { STARLOOM_LISTEN__PORT: '1' };
    const problems = await problemsIn('c.yaml', 'listen: 5', {
      schema,
      env,
      envPrefix: 'STARLOOM',
    });
    expect(problems).toMatchObject([{ file: 'c.yaml', key: 'listen', line: 1 }]);
  });
});

it('a flag wins over a variable, which wins over the file', async () => {
  const options = { schema, env: { STARLOOM_LISTEN__PORT: '2' }, envPrefix: 'STARLOOM' };
  const flags = [{ name: '--port', path: ['listen', 'port'], value: 3 }];
  expect((await load('c.yaml', 'listen: {port: 1}', options)).value.listen.port).toBe(2);
  expect((await load('c.yaml', 'listen: {port: 1}', { ...options, flags })).value.listen.port).toBe(
    3,
  );
  const bad = [{ name: '--port', path: ['listen', 'port'], value: 'x' }];
  const [problem] = await problemsFrom(loadConfig({ ...options, flags: bad }));
  expect(problem).toMatchObject({ file: '--port', key: 'listen.port' });
});
