import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SchemaProblem } from '../../src/foreign-schema/schema-fields.ts';
import { SchemaValidators } from '../../src/foreign-schema/schema-validators.ts';
import { sizeOf } from '../../src/foreign-schema/validation.ts';

type Schema = Record<string, unknown>;

const problems = (schema: Schema, value: unknown) =>
  new SchemaValidators().problems(schema, value, 'arguments');
const fits = (schema: Schema, value: unknown) => problems(schema, value).length === 0;

describe('schema validators', () => {
  it.each<[string, Schema, unknown, string]>([
    ['a type', { type: 'object' }, 1, 'arguments must be object'],
    [
      'a value inside',
      { properties: { a: { items: { type: 'integer' } } } },
      { a: [1, 1.5] },
      'a.1 must be integer',
    ],
    [
      'a key',
      { properties: {}, additionalProperties: false },
      { b: 1 },
      'arguments has no property "b"',
    ],
    ['a lack', { required: ['b'] }, {}, "arguments must have required property 'b'"],
    ['a bound', { properties: { a: { maximum: 3 } } }, { a: 4 }, 'a must be <= 3'],
    [
      'a pattern',
      { properties: { a: { pattern: '^(?:x|y)+$' } } },
      { a: 'z' },
      'a must match pattern "^(?:x|y)+$"',
    ],
    ['a union', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 1, 'arguments must be string'],
  ])('says what is wrong with %s', (_, schema, value, problem) => {
    expect(problems(schema, value)[0]).toBe(problem);
  });

  it('judges as ajv does, whatever the schema', () => {
    const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });
    fc.assert(
      fc.property(schemas, fc.array(values, { minLength: 4, maxLength: 12 }), (schema, list) => {
        const expected = ajv.compile(structuredClone(schema));
        const validators = new SchemaValidators();
        for (const value of list) {
          const isValid = validators.problems(schema, value, 'value').length === 0;
          expect(isValid, JSON.stringify({ schema, value })).toBe(expected(value));
        }
      }),
      { numRuns: 400 },
    );
  });

  it('counts the items that fit', () => {
    const two = { contains: { type: 'string' }, minContains: 2, maxContains: 3 };
    const texts = [0, 1, 2, 3, 4].map((count) => fits(two, [...Array(count).fill('a'), 1, null]));
    expect(texts).toEqual([false, false, true, true, false]);
    expect(fits({ contains: { const: 1 }, unevaluatedItems: { type: 'null' } }, [1, null])).toBe(
      true,
    );
    expect(fits({ contains: true }, [])).toBe(false);
  });

  it('knows what no keyword of a fitting branch has judged', () => {
    const closed: Schema = {
      anyOf: [
        { properties: { kind: { const: 'a' }, one: {} }, required: ['kind'] },
        { properties: { kind: { const: 'b' }, two: {} }, required: ['kind'] },
      ],
      unevaluatedProperties: false,
    };
    expect(fits(closed, { kind: 'a', one: 1 })).toBe(true);
    expect(fits(closed, { kind: 'a', two: 1 })).toBe(false);
    expect(fits({ allOf: [closed], properties: { two: {} } }, { kind: 'a', two: 1 })).toBe(false);
    expect(fits({ oneOf: [{ items: false }, true], unevaluatedItems: false }, [1])).toBe(false);
    expect(fits({ prefixItems: [true], unevaluatedItems: false }, [1])).toBe(true);
  });

  it.each<[string, Schema, unknown, boolean]>([
    ['a nested quantifier', { pattern: '^(a+)+$' }, `${'a'.repeat(100_000)}!`, false],
    ['ambiguous branches', { pattern: '^(?:a|a|aa)+$' }, `${'a'.repeat(100_000)}!`, false],
    ['a late mismatch', { pattern: '^.*.*.*=x$' }, 'a'.repeat(100_000), false],
    [
      'a pattern for keys',
      { patternProperties: { '^(a+)+$': false } },
      { [`${'a'.repeat(1_000)}!`]: 1 },
      true,
    ],
    ['an e-mail address', { format: 'email' }, `a@${'a'.repeat(1_000_000)}`, false],
    [
      'unique objects',
      { uniqueItems: true },
      Array.from({ length: 60_000 }, (_, index) => ({ index, same: [1, 2] })),
      true,
    ],
    [
      'objects of which two are equal',
      { uniqueItems: true },
      [
        { a: 1, b: '1' },
        { b: 1, a: 1 },
        { b: '1', a: 1 },
      ],
      false,
    ],
    [
      'plain items that look alike',
      { uniqueItems: true },
      [1, '1', true, 'true', null, 'null'],
      true,
    ],
  ])('[G9] judges %s in linear time', (_, schema, value, isValid) => {
    expect(fits({ properties: { value: schema } }, { value })).toBe(isValid);
  });

  it('refuses a schema whose branches multiply, and keeps one where they do not', () => {
    expect(() => problems(doubling(30), 'text of no branch')).toThrow(SchemaProblem);
    expect(fits(doubling(8), 1)).toBe(true);
  });

  it('takes recursive schemas for data of any depth a message may have', () => {
    const json: Schema = {
      anyOf: [
        { type: ['string', 'number', 'boolean', 'null'] },
        { type: 'array', items: { $ref: '#' } },
        { type: 'object', additionalProperties: { $ref: '#' } },
      ],
    };
    expect(fits(json, nested(60))).toBe(true);
    const operators = ['and', 'or', 'not', 'less', 'more', 'same', 'in', 'has'];
    const expression: Schema = {
      oneOf: operators.map((operator) => ({
        properties: { of: { type: 'array', items: { $ref: '#' } }, operator: { const: operator } },
        required: ['operator'],
      })),
    };
    const tree = (depth: number): unknown =>
      depth === 0
        ? { operator: 'has' }
        : { operator: operators[depth % 8], of: [tree(depth - 1), tree(depth - 1)] };
    expect(fits(expression, tree(8))).toBe(true);
    expect(fits(expression, { operator: 'and', of: [{ operator: 'nor' }] })).toBe(false);
  });

  it('blames the value when a small one would be no trouble', () => {
    const pairs: Schema = { items: { allOf: Array.from({ length: 500 }, () => ({ minimum: 0 })) } };
    expect(fits(pairs, [1, 2, 3])).toBe(true);
    expect(problems(pairs, Array(20_000).fill(1))[0]).toMatch(/take too long/);
  });

  it.each<[string, Schema]>([
    ['refers to another host', { $ref: 'http://127.0.0.1:1/schema.json' }],
    ['refers to nothing', { properties: { a: { $ref: '#/$defs/none' } } }],
    ['refers to itself alone', { $ref: '#' }],
    ['has an unknown type', { type: 'text' }],
    ['has a list for an object', { properties: [] }],
    ['has a pattern that is none', { pattern: '(' }],
    ['has patterns of great size', { pattern: '^(?:[a-z]{0,900}x[0-9]){1000}$' }],
    ['is too large', { description: 'x'.repeat(300_000) }],
    ['is nested too deep', { items: nestedSchema(200) }],
    ['has too many parts', { anyOf: Array.from({ length: 11_000 }, () => ({})) }],
  ])('refuses a schema that %s', (_, schema) => {
    const validators = new SchemaValidators();
    for (const __ of [1, 2]) {
      expect(() => validators.problems(schema, {}, 'arguments')).toThrow(SchemaProblem);
    }
  });

  it('leaves patterns with lookaround to the agent, and nothing else', () => {
    const pattern = '^(?!.*secret).*$';
    expect(fits({ pattern }, 'a secret')).toBe(true);
    expect(fits({ pattern, maxLength: 3 }, 'a secret')).toBe(false);
    expect(fits({ not: { pattern } }, 'open')).toBe(true);
    expect(fits({ oneOf: [{ pattern }, { type: 'string' }] }, 'open')).toBe(true);
    expect(fits({ if: { pattern }, else: false }, 'open')).toBe(true);
    const named = { patternProperties: { [pattern]: {} }, additionalProperties: false };
    expect(fits(named, { open: 1 })).toBe(true);
  });

  it('keeps schemas with the same $id apart', () => {
    const validators = new SchemaValidators();
    const named = (type: string) => ({
      $id: 'https://example.com/one',
      $defs: { value: { $id: 'https://example.com/value', type } },
      $ref: 'https://example.com/value',
    });
    expect(validators.problems(named('string'), 'text', 'value')).toEqual([]);
    expect(validators.problems(named('number'), 1, 'value')).toEqual([]);
    expect(validators.problems(named('number'), 'text', 'value')).toEqual(['value must be number']);
  });

  it('keeps a bounded number of schemas, the latest used, by what they say', () => {
    const validators = new SchemaValidators({ maxKept: 10 });
    const schema = (index: number) => ({ properties: { [`p${index}`]: { type: 'string' } } });
    for (let index = 0; index < 100; index += 1) {
      validators.problems(schema(index), {}, 'value');
      validators.problems(schema(0), {}, 'value');
    }
    expect(validators.size).toBe(10);
  });
});

/** Each level holds the one below twice. */
function doubling(levels: number): Schema {
  const $defs: Record<string, Schema> = { d0: { type: 'number' } };
  for (let level = 1; level <= levels; level += 1) {
    const $ref = `#/$defs/d${level - 1}`;
    $defs[`d${level}`] = { anyOf: [{ $ref }, { $ref }] };
  }
  return { $defs, $ref: `#/$defs/d${levels}` };
}

function nested(depth: number): unknown {
  return depth === 0 ? 'end' : depth % 2 ? [nested(depth - 1)] : { inner: nested(depth - 1) };
}

function nestedSchema(depth: number): Schema {
  return depth === 0 ? {} : { items: nestedSchema(depth - 1) };
}

const keys = fc.constantFrom('a', 'b', 'ab', 'c');
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(null, true, false, '', 'a', 'ab', 'aab', '💥', 0, 1, 2, 2.5, -3),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

const { schema: schemas } = fc.letrec<{ schema: Schema; inner: Schema | boolean }>((tie) => {
  const keyword = (name: string, value: fc.Arbitrary<unknown>) =>
    fc.tuple(fc.constant(name), value);
  const keywords = [
    keyword(
      'type',
      fc.constantFrom('string', 'number', 'integer', 'object', 'array', ['null', 'integer']),
    ),
    keyword('enum', fc.constantFrom(['a', 1, null], [[1], { a: 1 }, 2.5])),
    keyword('minimum', fc.constantFrom(0, 2)),
    keyword('exclusiveMaximum', fc.constantFrom(1, 2.5)),
    keyword('multipleOf', fc.constantFrom(0.5, 2)),
    keyword('minLength', fc.constantFrom(1, 2)),
    keyword('maxLength', fc.constantFrom(1, 2)),
    keyword('pattern', fc.constantFrom('^a', 'b$', '^a+$', '^(a|b){2}$', '(a+)b')),
    keyword('minItems', fc.constantFrom(1, 2)),
    keyword('maxItems', fc.constantFrom(1, 2)),
    keyword('uniqueItems', fc.constant(true)),
    keyword('prefixItems', fc.array(tie('inner'), { minLength: 1, maxLength: 2 })),
    keyword('items', tie('inner')),
    keyword('required', fc.uniqueArray(keys, { maxLength: 2 })),
    keyword('minProperties', fc.constantFrom(1, 2)),
    keyword('maxProperties', fc.constantFrom(1, 2)),
    keyword('properties', fc.dictionary(keys, tie('inner'), { maxKeys: 3 })),
    keyword(
      'patternProperties',
      fc.dictionary(fc.constantFrom('^a', 'b$'), tie('inner'), { maxKeys: 2 }),
    ),
    keyword('additionalProperties', tie('inner')),
    keyword('propertyNames', tie('inner')),
    keyword('dependentSchemas', fc.dictionary(keys, tie('inner'), { maxKeys: 1 })),
    keyword(
      'dependentRequired',
      fc.dictionary(keys, fc.uniqueArray(keys, { maxLength: 2 }), { maxKeys: 1 }),
    ),
    keyword('allOf', fc.array(tie('inner'), { minLength: 1, maxLength: 2 })),
    keyword('anyOf', fc.array(tie('inner'), { minLength: 1, maxLength: 3 })),
    keyword('oneOf', fc.array(tie('inner'), { minLength: 1, maxLength: 3 })),
    keyword('not', tie('inner')),
    keyword('if', tie('inner')),
    keyword('then', tie('inner')),
    keyword('else', tie('inner')),
  ];
  return {
    inner: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      fc.boolean(),
      fc.constantFrom<Schema>({ type: 'string' }, { type: 'integer' }, { const: 'a' }),
      tie('schema'),
    ),
    schema: fc.array(fc.oneof(...keywords), { maxLength: 5 }).map(Object.fromEntries<unknown>),
  };
});

describe('the size of a value', () => {
  it('is not counted further than it matters', () => {
    let reads = 0;
    const items = Array.from({ length: 60_000 }, (_, n) => ({ n }));
    const counted = new Proxy(items, {
      get(target, key, self) {
        reads += 1;
        return Reflect.get(target, key, self);
      },
    });
    expect(sizeOf({ list: counted }, 100)).toBeGreaterThanOrEqual(100);
    expect(reads).toBeLessThan(300);
    expect(sizeOf({ list: items })).toBeGreaterThan(60_000);
  });
});
