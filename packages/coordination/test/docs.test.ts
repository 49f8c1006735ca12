import { expect, it, test } from 'vitest';
import { EVENTS, PUSHES } from '../../../scripts/coordination-events.ts';
import { EXAMPLES } from '../../../scripts/coordination-examples.ts';
import { DOCS } from '../../../scripts/write-docs.ts';
import { describeMethods, METHODS, REASONS, SERVICE_PATHS } from '../src/index.ts';

it('documents every method with parameters, result, errors and an example', () => {
  const text = DOCS['docs/coordination.md']?.() ?? '';
  for (const name of Object.keys(METHODS)) {
    const [, after = ''] = text.split(`### ${name}\n`);
    const [section = ''] = after.split('\n### ');
    expect(section, name).toMatch(/\| Parameter \||No parameters of its own/);
    expect(section, name).toContain('Result: `');
    expect(section, name).toContain('Errors: ');
    expect(section, name).toContain(`"method":"${name}"`);
  }
  for (const { method } of PUSHES) expect(text).toContain(`### ${method}\n`);
  for (const { type } of EVENTS) expect(text).toContain(`| \`${type}\` |`);
  for (const reason of Object.keys(REASONS)) expect(text).toContain(`\`${reason}\``);
});

test.each(Object.entries(METHODS))('the example of %s fits its schemas', (name, method) => {
  const { params, result } = EXAMPLES[name] ?? expect.fail('there is none');
  expect(() => method.parse(params)).not.toThrow();
  expect(method.result.parse(result)).toEqual(result);
});

it('describes parameters and results as JSON Schemas', () => {
  const methods = describeMethods();
  expect(methods).toHaveLength(Object.keys(METHODS).length);
  const update = methods.find(({ name }) => name === 'context_coordinator.update');
  expect(update?.params).toMatchObject({
    type: 'object',
    required: ['session_id', 'update'],
    additionalProperties: false,
    properties: {
      op: { enum: ['merge', 'replace', 'append', 'patch', 'increment'] },
      if_version: { type: 'integer', minimum: 0 },
    },
  });
  expect(update?.errors).toContainEqual({ reason: 'lock_required', code: -32014 });
});

it('gives every service of the discovery at least its operations', () => {
  const names = Object.keys(METHODS);
  for (const service of Object.keys(SERVICE_PATHS)) {
    expect(names.filter((name) => name.startsWith(`${service}.`)).length).toBeGreaterThan(4);
  }
});
