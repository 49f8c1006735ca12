import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseJson } from '../src/parse-json.ts';
import { parseYaml } from '../src/parse-yaml.ts';
import { problemsIn } from './scratch.ts';

const schema = z.record(z.string(), z.unknown());

interface Mistake {
  readonly name: string;
  readonly text: string;
  readonly line: number;
  readonly fix: RegExp;
  readonly key?: string;
}

const MISTAKES: readonly Mistake[] = [
  { name: 'a tab as indentation', text: 'a:\n\tb: 1', line: 2, fix: /spaces/ },
  { name: 'two entries on one line', text: 'a: b: c', line: 1, fix: /own line/ },
  { name: 'a line indented too far', text: 'a: 1\n  b: 2', line: 1, fix: /equally indented/ },
  { name: 'a missing colon', text: 'a: 1\nb\nc: 2', line: 2, fix: /key: value/ },
  { name: 'an open quote', text: 'a: "x', line: 1, fix: /close every quote/ },
  { name: 'an open brace', text: 'a: 1\nb: {c: 1', line: 2, fix: /close every bracket/ },
  { name: 'an open bracket', text: 'a: [1, 2', line: 1, fix: /close every bracket/ },
  { name: 'a stray bracket', text: 'a: 1\n}', line: 2, fix: /brackets/ },
  { name: 'a reserved first character', text: 'a: @home', line: 1, fix: /quotes/ },
  { name: 'an unknown escape', text: 'a: "C:\\x"', line: 1, fix: /single quotes/ },
  { name: 'a list item among keys', text: 'a: 1\n- b', line: 2, fix: /":"/ },
  { name: 'a key among list items', text: '- a\nb: c', line: 2, fix: /indentation/ },
  { name: 'a second document', text: 'a: 1\n---\nb: 2', line: 2, fix: /one document/ },
  { name: 'a custom tag', text: 'a: !env KEY', line: 1, fix: /remove the tag/ },
  { name: 'a binary tag', text: 'a: !!binary aGk=', line: 1, fix: /remove the tag/ },
  { name: 'an old version directive', text: '%YAML 1.1\n---\na: yes', line: 1, fix: /YAML 1.2/ },
  { name: 'a key twice', text: 'a: 1\nb: 2\na: 3', line: 3, key: 'a', fix: /keep one/ },
  { name: 'a nested key twice', text: 'a:\n  b: 2\n  b: 3', line: 3, key: 'a.b', fix: /keep one/ },
  {
    name: 'a merge key',
    text: 'a: &x {b: 1}\nc:\n  <<: *x',
    line: 3,
    key: 'c["<<"]',
    fix: /keys out/,
  },
  { name: 'an alias to nothing', text: 'a: *x', line: 1, key: 'a', fix: /anchor before/ },
  {
    name: 'an alias to itself',
    text: 'a: &x\n  b: *x',
    line: 2,
    key: 'a.b',
    fix: /write the value/,
  },
  {
    name: 'a key that is a list',
    text: 'a:\n  ? [b]\n  : 1',
    line: 2,
    key: 'a',
    fix: /key: value/,
  },
  { name: '__proto__', text: 'a: {__proto__: {b: 1}}', line: 1, key: 'a.__proto__', fix: /rename/ },
  { name: 'constructor', text: 'constructor: 1', line: 1, key: 'constructor', fix: /rename/ },
  { name: 'prototype', text: 'a: 1\nprototype: 1', line: 2, key: 'prototype', fix: /rename/ },
  { name: 'nesting without end', text: '['.repeat(5000), line: 1, fix: /nest|bracket/ },
  {
    name: 'deep nesting',
    text: `${'['.repeat(150)}${']'.repeat(150)}`,
    line: 1,
    key: '[0]'.repeat(100),
    fix: /100 levels/,
  },
];

describe('YAML', () => {
  it.each(MISTAKES)(
    'refuses $name, with its line and fix',
    async ({ text, line, fix, key = '' }) => {
      const [problem] = await problemsIn('c.yaml', text, { schema });
      expect(problem).toMatchObject({ file: 'c.yaml', line, key });
      expect(problem?.fix).toMatch(fix);
    },
  );

  it('is YAML 1.2: yes, no, on, off and 0o7 mean what 1.2 says', () => {
    const { value } = parseYaml(
      '{a: yes, b: off, c: true, d: 0o7, e: 012, f: ~, g: 1e3}',
      'c.yaml',
    );
    expect(value).toEqual({ a: 'yes', b: 'off', c: true, d: 7, e: 12, f: null, g: 1000 });
  });

  it('expands aliases, within bounds', () => {
    const { value, problems } = parseYaml('a: &x [1, {b: 2}]\nc: *x\n', 'c.yaml');
    expect(problems).toEqual([]);
    expect(value).toEqual({ a: [1, { b: 2 }], c: [1, { b: 2 }] });
  });

  it('stops a file whose aliases multiply', () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const inner = level === 0 ? '"lol"' : `*l${level - 1}`;
      return `l${level}: &l${level} [${Array.from({ length: 9 }, () => inner).join(', ')}]`;
    });
    const { problems } = parseYaml(levels.join('\n'), 'c.yaml');
    expect(problems.map(({ message }) => message)).toEqual(['aliases repeat too much']);
  });

  it('never quotes the file in a syntax problem', () => {
    for (const text of [
      '- a\nb: hunter2',
      'a: @hunter2',
      'a: "hunter2',
      'a: !hunter2 x',
      'hunter2: *hunter2\n',
    ]) {
      const { problems } = parseYaml(text, 'c.yaml');
      expect(problems).not.toEqual([]);
      expect(JSON.stringify(problems.map(({ message, fix }) => [message, fix]))).not.toContain(
        'hunter2',
      );
    }
  });
});

describe('JSON', () => {
  const REFUSED = [
    { name: 'a trailing comma', text: '{\n  "a": 1,\n}', line: 3 },
    { name: 'a comment', text: '{\n  "a": 1 # x\n}', line: 2 },
    { name: 'single quotes', text: "{'a': 1}", line: 1 },
    { name: 'a bare word', text: '{"a": yes}', line: 1 },
    { name: 'a missing brace', text: '{"a": 1', line: 1 },
    { name: 'YAML', text: 'a: 1', line: 1 },
  ];
  it.each(REFUSED)('refuses $name', async ({ text, line }) => {
    const [problem] = await problemsIn('c.json', text, { schema });
    expect(problem).toMatchObject({ line });
  });

  it('refuses a key twice, and says where', async () => {
    const [problem] = await problemsIn('c.json', '{"a": 1,\n "a": 2}', { schema });
    expect(problem).toMatchObject({ line: 2, column: 2, key: 'a' });
  });

  it('refuses keys that reach a prototype and nesting without end, and says where', () => {
    const { problems } = parseJson('{"a": [\n {"__proto__": 1}]}', 'c.json');
    expect(problems).toMatchObject([{ line: 2, column: 3, key: 'a[0].__proto__' }]);
    const deep = parseJson(`${'['.repeat(5000)}${']'.repeat(5000)}`, 'c.json');
    expect(deep.problems).toMatchObject([{ line: 1, column: 101, message: 'nested too deeply' }]);
  });

  it('reads any JSON value as JSON.parse does, and places it as YAML does', () => {
    const forbidden = new Set(['__proto__', 'constructor', 'prototype']);
    const key = fc.string({ maxLength: 20 }).filter((text) => !forbidden.has(text));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.string({ unit: 'grapheme' }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(value, fc.constantFrom(0, 2), (json, indent) => {
        const text = JSON.stringify(json, null, indent);
        const source = parseJson(text, 'c.json');
        expect(source.problems).toEqual([]);
        expect(source.value).toEqual(JSON.parse(text));
        expect(source.positions).toEqual(parseYaml(text, 'c.json').positions);
      }),
      { numRuns: 200 },
    );
  });
});
