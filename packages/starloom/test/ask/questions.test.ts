import { describe, expect, it } from 'vitest';
import { formFields } from '../../src/ask/questions.ts';

const fieldOf = (property: object, isRequired = false) => {
  const schema = { properties: { field: property }, required: isRequired ? ['field'] : [] };
  const [field] = formFields(schema);
  if (!field) throw new Error('no field');
  return field;
};

const COLOURS = [
  { const: 'r', title: 'Red' },
  { const: 'g', title: 'Green' },
];

describe('a field of a form', () => {
  it.each([
    [{ type: 'string' }, 'any', 'any'],
    [{ type: 'string', format: 'email' }, 'a@b.example', 'a@b.example'],
    [{ type: 'string', format: 'date' }, '2026-01-31', '2026-01-31'],
    [{ type: 'string', format: 'unheard-of' }, 'x', 'x'],
    [{ type: 'integer', minimum: 1 }, '3', 3],
    [{ type: 'number' }, '-0.5', -0.5],
    [{ type: ['null', 'integer'] }, '3', 3],
    [{ type: 'boolean' }, 'Yes', true],
    [{ type: 'boolean' }, 'no', false],
    [{ type: 'string', enum: ['a', 'b'] }, 'b', 'b'],
    [{ type: 'string', enum: ['a', 'b'] }, '2', 'b'],
    [{ enum: ['a', 'b'], enumNames: ['Alpha', 'Beta'] }, 'beta', 'b'],
    [{ enum: ['2', '1'] }, '2', '2'],
    [{ enum: [5, 3] }, '3', 3],
    [{ type: 'string', oneOf: COLOURS }, 'green', 'g'],
    [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, 'b, a', ['b', 'a']],
    [{ type: 'array', items: { anyOf: COLOURS } }, '1,Green,1', ['r', 'g']],
    [{ type: 'object' }, '{"a":1}', { a: 1 }],
  ])('takes %o: %s', (property, typed, value) => {
    expect(fieldOf(property).parse(typed)).toEqual({ value });
  });

  it.each([
    [{ type: 'string', minLength: 3 }, 'ab'],
    [{ type: 'string', maxLength: 1 }, 'ab'],
    [{ type: 'string', format: 'email' }, 'ada'],
    [{ type: 'string', format: 'uri' }, 'not an address'],
    [{ type: 'string', format: 'date' }, '2026-13-01'],
    [{ type: 'string', format: 'date-time' }, 'tomorrow'],
    [{ type: 'integer' }, '1.5'],
    [{ type: 'integer', maximum: 9 }, '10'],
    [{ type: 'number' }, 'Infinity'],
    [{ type: 'number' }, ' '],
    [{ type: 'boolean' }, 'maybe'],
    [{ enum: ['a', 'b'] }, '3'],
    [{ enum: ['2', '1'] }, '3'],
    [{ type: 'array', items: { enum: ['a'] } }, 'a,c'],
    [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 }, 'a'],
    [{ type: 'object' }, '{'],
  ])('refuses for %o: %s', (property, typed) => {
    expect(fieldOf(property).parse(typed)).toEqual({ problem: expect.any(String) });
  });

  it('says what is expected, without anything a terminal would act on', () => {
    const property = {
      type: 'integer',
      minimum: 1,
      maximum: 9,
      default: 2,
      title: '\x1b[31mSeats',
    };
    expect(fieldOf(property, true)).toMatchObject({
      label: 'Seats',
      note: 'whole number from 1 to 9, required, default 2',
      standard: 2,
    });
  });

  it('is not there in a schema of another shape', () => {
    for (const schema of [undefined, null, 'x', [], { properties: [] }]) {
      expect(formFields(schema)).toEqual([]);
    }
  });
});
