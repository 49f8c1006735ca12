import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it, test } from 'vitest';
import { PUSHES } from '../../../scripts/coordination-events.ts';
import { EXAMPLES } from '../../../scripts/coordination-examples.ts';
import { coordinationOpenApi } from '../../../scripts/coordination-open-api.ts';
import { METHODS, SERVICE_PATHS } from '../src/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read into the document freely
const document: any = coordinationOpenApi();
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'openapi', ...document });

const validatorOf = (schema: string) => ajv.compile({ $ref: `openapi#${schema}` });
const exampleOf = (name: string, kind: 'request' | 'answer') =>
  document.components.examples[`${name}.${kind}`].value;

test.each(Object.keys(METHODS))('the example of %s validates against its own schemas', (name) => {
  const examples = {
    ...EXAMPLES[name],
    request: exampleOf(name, 'request'),
    answer: exampleOf(name, 'answer'),
  };
  for (const [kind, example] of Object.entries(examples)) {
    const validate = validatorOf(`/components/schemas/${name}.${kind}`);
    expect(validate(example), `${kind}: ${JSON.stringify(validate.errors)}`).toBe(true);
  }
});

it('tells methods apart: a request fits its own schema and no other', () => {
  const fits = validatorOf('/components/schemas/rpc.requests');
  for (const name of Object.keys(METHODS)) {
    const value = exampleOf(name, 'request');
    expect(fits(value), `${name}: ${JSON.stringify(fits.errors)}`).toBe(true);
    expect(fits([value, value])).toBe(true);
    expect(fits({ ...value, method: 'agent_registry.send' })).toBe(false);
    expect(fits({ ...value, params: { no_such_parameter: 1 } })).toBe(false);
  }
});

it('serves every method at /rpc and those of each service at its path', () => {
  const namesAt = (path: string) => {
    const { content } = document.paths[path].post.requestBody;
    return Object.keys(content['application/json'].examples);
  };
  const mappedFor = (id: string) =>
    Object.keys(document.components.schemas[`${id}.request`].discriminator.mapping);
  expect(namesAt('/rpc')).toEqual(Object.keys(METHODS));
  expect(mappedFor('rpc')).toEqual(Object.keys(METHODS));
  for (const [service, path] of Object.entries(SERVICE_PATHS)) {
    const own = Object.keys(METHODS).filter((name) => name.startsWith(`${service}.`));
    expect(namesAt(path)).toEqual(own);
    expect(mappedFor(service)).toEqual(own);
  }
});

it('refers to nothing that is not there, and says what is pushed and what can go wrong', () => {
  const text = JSON.stringify(document);
  const refs = [...text.matchAll(/"#\/components\/(schemas|examples)\/([^"]+)"/g)];
  expect(refs.length).toBeGreaterThan(100);
  for (const [, kind = '', name = ''] of refs) {
    expect(document.components[kind]).toHaveProperty([name]);
  }
  expect(Object.keys(document.webhooks)).toEqual(PUSHES.map(({ method }) => method));
  for (const { method, example } of PUSHES) {
    const body = document.webhooks[method].post.requestBody.content['application/json'];
    expect(body.example).toEqual({ jsonrpc: '2.0', method, params: example });
    expect(Object.keys(body.schema.properties.params.properties)).toEqual(Object.keys(example));
  }
  const update = document.components.schemas['context_coordinator.update.request'];
  expect(update['x-errors']).toContainEqual({ reason: 'lock_required', code: -32014 });
});
