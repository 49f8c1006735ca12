import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { isPlainSchema } from '../../src/core/plain-schema.ts';

const ajv = new Ajv2020({ strict: false, logger: false });

it('vouches for the parameters that tools are usually given', () => {
  const parameters = z.strictObject({
    path: z.string().min(1).max(4096).describe('Where'),
    lines: z.array(z.int().positive()).max(10).optional(),
    mode: z.enum(['read', 'write']).default('read'),
    labels: z.record(z.string(), z.string()),
    either: z.union([z.string(), z.null()]),
    range: z.union([z.strictObject({ from: z.number() }), z.number().multipleOf(2)]),
  });
  const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: 'input' });
  expect(isPlainSchema(schema)).toBe(true);
});

it.each([
  ['an unknown type', { type: 'strin' }],
  ['a type named twice', { type: ['string', 'string'] }],
  ['properties that are no schemas', { properties: { a: 'string' } }],
  ['a name required twice', { required: ['a', 'a'] }],
  ['a length below zero', { minLength: -1 }],
  ['a choice of none', { anyOf: [] }],
  ['a reference', { $ref: '#/$defs/a' }],
  ['a pattern, which may not compile', { pattern: '(' }],
  ['something wrong deep inside', { items: { properties: { a: { not: 1 } } } }],
  ['no schema at all', ['object']],
])('does not vouch for %s', (_, schema) => {
  expect(isPlainSchema(schema)).toBe(false);
});

it('vouches for nothing that the meta-schema refuses', () => {
  const keyword = fc.constantFrom(
    ...['type', 'properties', 'required', 'additionalProperties', 'items', 'prefixItems', 'anyOf'],
    ...[
      'not',
      'enum',
      'const',
      'title',
      'minimum',
      'multipleOf',
      'maxLength',
      'uniqueItems',
      '$id',
    ],
    ...['examples', 'default', 'propertyNames', 'minProperties', 'pattern', '__proto__'],
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('object', 'string', 'integer', 'a', 1, 0, -1, 0.5, true, false, null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(keyword, tie('value'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(keyword, value, { maxKeys: 4 }), (schema) => {
      if (isPlainSchema(schema)) expect(ajv.validateSchema(schema)).toBe(true);
    }),
    { numRuns: 3000 },
  );
});
