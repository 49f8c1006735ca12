import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../src/load-config.ts';
import { load, problemsFrom, problemsIn, scratch } from './scratch.ts';

const schema = z.strictObject({
  listen: z
    .strictObject({
      host: z.string().default('127.0.0.1'),
      port: z.int().min(0).max(65_535).default(7420).describe('TCP port'),
    })
    .prefault({}),
  names: z.enum(['dots', 'underscores']).default('dots'),
  agents: z
    .array(z.strictObject({ id: z.string(), tags: z.array(z.string()).default([]) }))
    .default([]),
});

describe('a good file', () => {
  it('gives its values with the defaults filled in, from YAML, JSON and TOML alike', async () => {
    const expected = {
      listen: { host: '0.0.0.0', port: 7420 },
      names: 'dots',
      agents: [{ id: 'a', tags: ['x'] }],
    };
    const texts = {
      'c.yaml': 'listen: {host: 0.0.0.0}\nagents:\n  - id: a\n    tags: [x]\n',
      'c.yml': '# comment\n---\nlisten:\n  host: "0.0.0.0"\nagents: [{id: a, tags: [x]}]',
      'c.json': '{"listen": {"host": "0.0.0.0"}, "agents": [{"id": "a", "tags": ["x"]}]}',
      'c.toml': '[listen]\nhost = "0.0.0.0"\n[[agents]]\nid = "a"\ntags = ["x"]\n',
    };
    for (const [name, text] of Object.entries(texts)) {
      expect((await load(name, text, { schema })).value, name).toEqual(expected);
    }
  });

  it('is frozen all the way down', async () => {
    const { value } = await load('c.yaml', 'agents: [{id: a}]', { schema });
    expect(Object.isFrozen(value)).toBe(true);
    expect(Object.isFrozen(value.listen)).toBe(true);
    expect(Object.isFrozen(value.agents[0]?.tags)).toBe(true);
    expect(() => value.agents.push({ id: 'b', tags: [] })).toThrow(TypeError);
  });

  it('says where each value came from', async () => {
    const { origins } = await load('c.yaml', 'listen:\n  port: 1\nagents:\n  - id: a\n', {
      schema,
      env: { APP_LISTEN__HOST: '::1' },
      envPrefix: 'APP',
      flags: [{ name: '--names', path: ['names'], value: 'underscores' }],
    });
    expect(Object.fromEntries(origins)).toEqual({
      'listen.host': { kind: 'env', name: 'APP_LISTEN__HOST' },
      'listen.port': { kind: 'file', file: 'c.yaml', line: 2, column: 9 },
      names: { kind: 'flag', name: '--names' },
      'agents[0].id': { kind: 'file', file: 'c.yaml', line: 4, column: 9 },
      'agents[0].tags': { kind: 'default' },
    });
  });

  it('may name its schema for editors', async () => {
    const { value } = await load('c.json', '{"$schema": "./c.schema.json", "names": "dots"}', {
      schema,
    });
    expect(value).not.toHaveProperty('$schema');
  });

  it('knows the folder its relative paths begin in', async () => {
    await using place = await scratch({});
    await mkdir(join(place.folder, 'inner'));
    const loaded = await loadConfig({ schema, cwd: join(place.folder, 'inner') });
    expect(loaded).toMatchObject({ folder: join(place.folder, 'inner') });
    expect(loaded).not.toHaveProperty('file');
  });

  it('may be empty when no key is required', async () => {
    expect((await load('c.yaml', '# nothing yet\n', { schema })).value.names).toBe('dots');
    expect((await load('c.toml', '\n', { schema })).value.names).toBe('dots');
  });
});

describe('a bad file', () => {
  it('throws BAD_INPUT with the reason, the first problem in the message and all in details', async () => {
    const text = 'listen:\n  host: a\n\n  prot: 1\nnames: x1\n';
    const error = await load('c.yaml', text, { schema }).catch((reason: unknown) => reason);
    expect(FabricError.is(error) && error.code).toBe('BAD_INPUT');
    expect(error).toMatchObject({
      message: 'c.yaml:4:3 listen.prot: unknown key; did you mean "port"? (and 1 more)',
      details: {
        reason: 'config',
        problems: [
          { file: 'c.yaml', line: 4, column: 3, key: 'listen.prot', fix: 'rename it to "port"' },
          {
            file: 'c.yaml',
            line: 5,
            column: 8,
            key: 'names',
            fix: 'write "dots" or "underscores"',
          },
        ],
      },
    });
  });

  it('lists its problems in the order of the file, whatever the order of the schema', async () => {
    const text = 'agents: 1\nnames: 2\nlisten: {port: x}\nzzz: 1\n';
    const problems = await problemsIn('c.yaml', text, { schema });
    expect(problems.map(({ line }) => line)).toEqual([1, 2, 3, 4]);
  });

  it('never shows a text it was given', async () => {
    const text = 'listen: {host: [hunter2], port: hunter2}\nnames: hunter2\nagents: hunter2\n';
    const error = await load('c.yaml', text, { schema }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(JSON.stringify([error, String(error)])).not.toContain('hunter2');
  });

  it('says that a missing key is missing, at the map that lacks it', async () => {
    const [problem] = await problemsIn('c.yaml', 'agents:\n  - tags: []\n', { schema });
    expect(problem).toMatchObject({ key: 'agents[0].id', line: 2, column: 5 });
    expect(problem?.message).toBe('missing; expected a string');
  });

  it('names every kind there is where a kind is wrong, also when one is the default', async () => {
    const tagged = z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('plain').default('plain') }),
      z.strictObject({ kind: z.literal('fancy'), colour: z.string() }),
    ]);
    const [problem] = await problemsIn('c.yaml', 'kind: fanzy\n', { schema: tagged });
    expect(problem?.message).toBe('expected "plain" or "fancy"; did you mean "fancy"?');
  });

  it('does not call a key missing when it is only misspelt', async () => {
    const problems = await problemsIn('c.yaml', 'agents: [{ids: a}]', { schema });
    expect(problems.map(({ key }) => key)).toEqual(['agents[0].ids']);
  });

  it('says where a key belongs that stands in the wrong map', async () => {
    const [problem] = await problemsIn('c.yaml', 'port: 80\n', { schema });
    expect(problem).toMatchObject({ key: 'port', fix: 'move it to listen.port' });
  });

  it('is called empty when a list or a required key is wanted', async () => {
    for (const wanted of [z.array(z.string()), z.strictObject({ name: z.string() })]) {
      const problems = await problemsIn('c.yaml', '# nothing\n', { schema: wanted });
      expect(problems).toMatchObject([{ line: 1, message: 'the file is empty' }]);
    }
  });
});

describe('a file that cannot be read', () => {
  it('names the path and what to do when it is missing', async () => {
    await using place = await scratch({});
    const loading = loadConfig({ path: 'nope.yaml', cwd: place.folder, schema });
    await expect(loading).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: 'nope.yaml no such file; create it or pass --config',
      details: { reason: 'config' },
    });
  });

  it('says so when it is a directory, a device or of an unknown kind', async () => {
    await using place = await scratch({ 'notes.txt': 'x' });
    await mkdir(join(place.folder, 'folder.yaml'));
    const cases = [
      ['folder.yaml', /it is a directory/],
      ['/dev/null', /the kind of file is not known/],
      ['notes.txt', /the kind of file is not known/],
    ] as const;
    for (const [path, message] of cases) {
      const [problem] = await problemsFrom(loadConfig({ path, cwd: place.folder, schema }));
      expect(problem?.message).toMatch(message);
    }
    const device = loadConfig({ path: '/dev/null', format: 'yaml', schema });
    expect((await problemsFrom(device))[0]?.message).toMatch(/not a regular file/);
  });

  it('says so when this user may not read it', async () => {
    await using place = await scratch({ 'c.yaml': 'names: dots' });
    await chmod(join(place.folder, 'c.yaml'), 0o000);
    using _ = withoutRoot();
    const [problem] = await problemsFrom(loadConfig({ path: 'c.yaml', cwd: place.folder, schema }));
    expect(problem?.message).toMatch(/may not read it/);
  });

  it('refuses what is not UTF-8, and what is too large', async () => {
    const latin = Uint8Array.from([...Buffer.from('names: "d'), 0xe4, ...Buffer.from('"')]);
    expect((await problemsIn('c.yaml', latin, { schema }))[0]?.message).toMatch(/not UTF-8/);
    const large = `# ${'x'.repeat(4 * 1024 * 1024)}`;
    expect((await problemsIn('c.yaml', large, { schema }))[0]?.message).toMatch(/larger than/);
  });

  it('reads past a byte order mark', async () => {
    const { value } = await load('c.yaml', '\uFEFFnames: underscores', { schema });
    expect(value.names).toBe('underscores');
  });
});

/** Root may read everything: be nobody for a while. */
function withoutRoot(): Disposable {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  return {
    [Symbol.dispose]: () => {
      if (isRoot) process.seteuid?.(0);
    },
  };
}

describe('parts with schemas of their own', () => {
  const open = z.strictObject({ parts: z.array(z.record(z.string(), z.unknown())), port: z.int() });
  const inner = z.strictObject({ port: z.int().positive().optional(), host: z.string() });
  const parts = (root: unknown) =>
    (root as { parts: unknown[] }).parts.map((_, index) => ({
      path: ['parts', index],
      schema: inner,
    }));

  it('are reported with the rest, each at its place', async () => {
    const text = 'port: x\nparts:\n  - host: a\n    prot: 1\n  - port: 0\n    host: b\n  - {}\n';
    expect(await problemsIn('c.yaml', text, { schema: open, parts })).toMatchObject([
      { line: 1, key: 'port' },
      { line: 4, key: 'parts[0].prot', message: expect.stringContaining('did you mean "port"') },
      { line: 5, key: 'parts[1].port' },
      { line: 7, key: 'parts[2].host', fix: expect.stringContaining('add "host"') },
    ]);
  });

  it('leave a good value as it is', async () => {
    const { value } = await load('c.yaml', 'port: 1\nparts: [{host: a}]\n', {
      schema: open,
      parts,
    });
    expect(value).toEqual({ port: 1, parts: [{ host: 'a' }] });
  });
});
