import { describe, expect, it } from 'vitest';
import {
  fieldsOf,
  initialOf,
  problemsOf,
  readJson,
  readNumber,
  Unreadable,
} from '../src/ui/schema.ts';

const schema = {
  type: 'object',
  required: ['path', 'mode'],
  properties: {
    path: { type: 'string', description: 'Where' },
    mode: { enum: ['read', 'write'], default: 'read' },
    lines: { type: ['integer', 'null'] },
    tags: { type: 'array', items: { type: 'string' } },
    where: { $ref: '#/$defs/place' },
    either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    odd: { oneOf: [{ type: 'string' }, { type: 'number' }] },
    meal: { type: 'string', oneOf: [{ const: 'v', title: 'Vegetables' }, { const: 'f' }] },
  },
  $defs: { place: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
};

describe('a form from a JSON Schema', () => {
  it('has a field for each property, and JSON for what it does not know', () => {
    const kinds = fieldsOf(schema).map(({ name, kind }) => [name, kind]);
    expect(Object.fromEntries(kinds)).toEqual({
      path: 'text',
      mode: 'choice',
      lines: 'integer',
      tags: 'list',
      where: 'object',
      either: 'text',
      odd: 'json',
      meal: 'choice',
    });
  });

  it('names choices as the schema does', () => {
    const meal = fieldsOf(schema).find(({ name }) => name === 'meal');
    expect(meal?.options).toEqual([
      { value: 'v', label: 'Vegetables' },
      { value: 'f', label: 'f' },
    ]);
  });

  it('starts with defaults, and names what is missing by its path', () => {
    const fields = fieldsOf(schema);
    expect(initialOf(fields)).toEqual({ mode: 'read' });
    expect(problemsOf(fields, { mode: 'read', where: {} })).toEqual({
      path: 'Required.',
      'where.x': 'Required.',
    });
    expect(problemsOf(fields, { path: 'a', mode: 'read' })).toEqual({});
  });

  it('keeps what a person typed until it can be read', () => {
    expect(readNumber('12', true)).toBe(12);
    expect(readNumber('1.5', true)).toBeInstanceOf(Unreadable);
    expect(readJson('{"a": 1}')).toEqual({ a: 1 });
    expect(readJson('{')).toBeInstanceOf(Unreadable);
  });

  it('ends for schemas that refer to themselves, and for hostile ones', () => {
    const loop = { type: 'object', properties: { child: { $ref: '#' } } };
    expect(JSON.stringify(fieldsOf(loop)).length).toBeLessThan(5000);
    expect(fieldsOf({ type: 'object', properties: { a: { $ref: '#/__proto__/x' } } })).toHaveLength(
      1,
    );
    const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`p${n}`, {}]));
    expect(fieldsOf({ type: 'object', properties: wide }).length).toBeLessThan(100);
  });
});
