import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../src/load-config.ts';
import { revealText, Secret, secret, secretOrText } from '../src/secret.ts';
import { load, problemsFrom, problemsIn, scratch } from './scratch.ts';

const VALUE = 'correct-horse-battery-staple';
const tooShort = (value: string) =>
  value.length < 8 ? { message: 'is too short', fix: 'use a longer one' } : undefined;
const schema = z.strictObject({
  key: secret({ check: tooShort }).describe('The key').optional(),
  list: z.array(z.strictObject({ key: secret() })).default([]),
  url: secretOrText({
    checkText: (text) =>
      text.includes('@') ? { message: 'has a password', fix: 'use env:' } : undefined,
  }).optional(),
});

describe('a secret', () => {
  it('is read from the variable it names', async () => {
    const { value } = await load('c.yaml', 'key: env:KEY', { schema, env: { KEY: VALUE } });
    expect(value.key?.reveal()).toBe(VALUE);
    expect(value.key?.reference).toBe('env:KEY');
  });

  it('is read from the file it names, beside the configuration, without the last line end', async () => {
    await using place = await scratch({
      'c.yaml': 'key: file:./key\nlist: [{key: file:two}]',
      key: `${VALUE}\n`,
      two: 'a\nb\n\n',
    });
    const { value, warnings } = await loadConfig({ path: 'c.yaml', cwd: place.folder, schema });
    expect(value.key?.reveal()).toBe(VALUE);
    expect(value.list[0]?.key.reveal()).toBe('a\nb\n');
    expect(warnings).toEqual([]);
  });

  it('shows its reference, and never its value, wherever it is printed', async () => {
    const { value } = await load('c.yaml', 'key: env:KEY', { schema, env: { KEY: VALUE } });
    const shown = [
      String(value.key),
      `${value.key}`,
      JSON.stringify(value),
      inspect(value, { depth: 9, showHidden: true }),
    ];
    for (const text of shown) {
      expect(text).toContain('[secret env:KEY]');
      expect(text).not.toContain(VALUE);
    }
    expect(Object.values(value.key ?? {})).not.toContain(VALUE);
  });

  it('stays a reference when nothing is to be resolved', async () => {
    const { value } = await load('c.yaml', 'key: env:NOT_SET', { schema, resolveSecrets: false });
    expect(value.key).toBeInstanceOf(Secret);
    expect(() => value.key?.reveal()).toThrow(/not resolved/);
  });

  it('may be plain text where the schema allows it', async () => {
    const { value } = await load('c.yaml', 'url: redis://host', { schema });
    expect(revealText(value.url ?? '')).toBe('redis://host');
    const named = await load('c.yaml', 'url: env:URL', {
      schema,
      env: { URL: 'redis://u:p@host' },
    });
    expect(revealText(named.value.url ?? '')).toBe('redis://u:p@host');
    expect(JSON.stringify(named.value)).not.toContain('u:p');
  });

  it('may come from a variable that overrides the key', async () => {
    const env = { APP_LIST__0__KEY: 'env:KEY', KEY: VALUE };
    const { value } = await loadConfig({ schema, env, envPrefix: 'APP' });
    expect(value.list[0]?.key.reveal()).toBe(VALUE);
  });

  it('in a file that others can read is used, with a warning', async () => {
    await using place = await scratch({ 'c.yaml': 'list:\n  - key: file:key' });
    await writeFile(join(place.folder, 'key'), VALUE);
    await chmod(join(place.folder, 'key'), 0o644);
    const { value, warnings } = await loadConfig({ path: 'c.yaml', cwd: place.folder, schema });
    expect(value.list[0]?.key.reveal()).toBe(VALUE);
    expect(warnings).toMatchObject([
      { file: 'c.yaml', line: 2, key: 'list[0].key', fix: 'chmod 600 key' },
    ]);
  });
});

describe('a bad secret', () => {
  const MISTAKES = [
    {
      name: 'a literal',
      text: `key: ${VALUE}`,
      message: /is plain text in this file/,
      fix: /env:NAME or file:PATH/,
    },
    {
      name: 'a bad variable name',
      text: `key: env:${VALUE}`,
      message: /is plain text in this file/,
      fix: /env:NAME/,
    },
    {
      name: 'an empty reference',
      text: "key: 'file:'",
      message: /is plain text in this file/,
      fix: /file:PATH/,
    },
    { name: 'a number', text: 'key: 12345678', message: /expected a string/, fix: /quotes/ },
    {
      name: 'an unset variable',
      text: 'key: env:NOT_SET',
      message: /NOT_SET is not set/,
      fix: /set NOT_SET/,
    },
    { name: 'an empty variable', text: 'key: env:EMPTY', message: /EMPTY is empty/, fix: /EMPTY/ },
    { name: 'a missing file', text: 'key: file:nope', message: /no such file/, fix: /nope/ },
    { name: 'a folder', text: 'key: file:.', message: /directory/, fix: /put the secret/ },
    {
      name: 'a value the schema refuses',
      text: 'key: env:SHORT',
      message: /env:SHORT is too short/,
      fix: /longer/,
    },
    {
      name: 'text with a password',
      text: 'url: redis://u:p@host',
      message: /has a password/,
      fix: /env:/,
    },
  ];
  it.each(MISTAKES)('is refused with key, line and fix: $name', async ({ text, message, fix }) => {
    const env = { EMPTY: '', SHORT: 'abc' };
    const [problem, ...more] = await problemsIn('c.yaml', `# first line\n${text}\n`, {
      schema,
      env,
    });
    expect(more).toEqual([]);
    expect(problem).toMatchObject({ file: 'c.yaml', line: 2, key: text.split(':')[0] });
    expect(problem?.message).toMatch(message);
    expect(problem?.fix).toMatch(fix);
    expect(JSON.stringify(problem)).not.toContain(VALUE);
  });

  it('is reported together with the other mistakes of the file', async () => {
    const text = 'list:\n  - key: env:NOT_SET\n  - kye: env:X\nkey: 1\n';
    const problems = await problemsIn('c.yaml', text, { schema });
    expect(problems.map(({ key }) => key)).toEqual(['list[0].key', 'list[1].kye', 'key']);
  });

  it('that is an empty file is refused', async () => {
    await using place = await scratch({ 'c.yaml': 'key: file:key', key: '\n' });
    const loading = loadConfig({ path: 'c.yaml', cwd: place.folder, schema });
    expect((await problemsFrom(loading))[0]?.message).toMatch(/is empty/);
  });
});
