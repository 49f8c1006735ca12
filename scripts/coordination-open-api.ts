// The table of methods as an OpenAPI 3.1 document. JSON-RPC has one operation per path, so the
// schema of a request identifies its method; what is pushed stands under webhooks.

import {
  describeMethods,
  type MethodDescription,
  PROTOCOL_VERSION,
  SERVICE_PATHS,
} from '@starloom/coordination';
import type { Json, JsonObject } from '@starloom/core';
import { PUSHES, type PushDescription } from './coordination-events.ts';
import { EXAMPLES } from './coordination-examples.ts';

export function coordinationOpenApi(): JsonObject {
  const methods = describeMethods();
  const operations: readonly Operation[] = [
    { id: 'rpc', path: '/rpc', summary: 'Every method', methods },
    ...Object.entries(SERVICE_PATHS).map(([service, path]) => ({
      id: service,
      path,
      summary: 'The methods of this service; every other method is served here, too',
      methods: methods.filter((method) => method.service === service),
    })),
  ];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Starloom coordination',
      version: PROTOCOL_VERSION,
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    paths: Object.fromEntries(operations.map((operation) => [operation.path, toPath(operation)])),
    webhooks: Object.fromEntries(PUSHES.map((push) => [push.method, toWebhook(push)] as const)),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: {
        ...COMMON_SCHEMAS,
        ...Object.fromEntries(methods.flatMap(toSchemas)),
        ...Object.fromEntries(operations.flatMap(toBodies)),
      },
      examples: Object.fromEntries(methods.flatMap(toExamples)),
    },
  };
}

const INTRODUCTION =
  'JSON-RPC 2.0 by POST: one request or a batch. With `Accept: text/event-stream` the answer is ' +
  'the first event, and a subscription keeps the stream open for what is pushed. The same messages ' +
  'go over a WebSocket at /rpc/ws and over standard input and output with `starloom rpc --stdio`.';

interface Operation {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  readonly methods: readonly MethodDescription[];
}

const COMMON_SCHEMAS: JsonObject = {
  id: {
    description: 'Of a request; without one it is a notification, which gets no answer',
    type: ['string', 'number', 'null'],
  },
  failure: {
    type: 'object',
    required: ['jsonrpc', 'id', 'error'],
    properties: {
      jsonrpc: { const: '2.0' },
      id: toRef('id'),
      error: {
        type: 'object',
        required: ['code', 'message', 'data'],
        properties: {
          code: { type: 'integer' },
          message: { type: 'string' },
          data: {
            type: 'object',
            required: ['details'],
            properties: {
              details: { type: 'string', description: 'What is wrong, as a sentence' },
              reason: { type: 'string', description: 'What is wrong, for programs' },
              fix: { type: 'string' },
            },
          },
        },
      },
    },
  },
};

function toSchemas({ name, summary, params, result, errors }: MethodDescription) {
  const required = Array.isArray(params.required) && params.required.length > 0;
  const request: JsonObject = {
    description: summary,
    type: 'object',
    required: ['jsonrpc', 'method', ...(required ? ['params'] : [])],
    properties: {
      jsonrpc: { const: '2.0' },
      id: toRef('id'),
      method: { const: name },
      params: toRef(`${name}.params`),
    },
    'x-errors': errors.map(({ reason, code }) => ({ reason, code })),
  };
  const answer: JsonObject = {
    type: 'object',
    required: ['jsonrpc', 'id', 'result'],
    properties: { jsonrpc: { const: '2.0' }, id: toRef('id'), result: toRef(`${name}.result`) },
  };
  return [
    [`${name}.params`, params],
    [`${name}.result`, result],
    [`${name}.request`, request],
    [`${name}.answer`, answer],
  ] as const;
}

/** What an operation takes and gives: one message or a batch. */
function toBodies({ id, methods }: Operation) {
  const names = methods.map(({ name }) => name);
  const request: JsonObject = {
    oneOf: names.map((name) => toRef(`${name}.request`)),
    discriminator: {
      propertyName: 'method',
      mapping: Object.fromEntries(names.map((name) => [name, refTo(`${name}.request`)])),
    },
  };
  const answer: JsonObject = {
    anyOf: [...names.map((name) => toRef(`${name}.answer`)), toRef('failure')],
  };
  return [
    [`${id}.request`, request],
    [`${id}.answer`, answer],
    [`${id}.requests`, oneOrMore(toRef(`${id}.request`))],
    [`${id}.answers`, oneOrMore(toRef(`${id}.answer`))],
  ] as const;
}

function toPath({ id, summary, methods }: Operation): JsonObject {
  const body = (kind: 'request' | 'answer'): JsonObject => ({
    schema: toRef(`${id}.${kind}s`),
    examples: Object.fromEntries(
      methods.map(({ name }) => [name, { $ref: `#/components/examples/${name}.${kind}` }]),
    ),
  });
  return {
    post: {
      operationId: id,
      summary,
      requestBody: { required: true, content: { 'application/json': body('request') } },
      responses: {
        '200': {
          description: 'The answer; also an error of a method is one',
          content: {
            'application/json': body('answer'),
            'text/event-stream': { schema: { type: 'string' } },
          },
        },
        '204': { description: 'There were notifications only' },
        '400': toFailure('The body is no JSON, or too deep'),
        '401': toFailure('No key, or a wrong one'),
        '413': toFailure('The body is too large'),
      },
    },
  };
}

function oneOrMore(schema: JsonObject): JsonObject {
  return { anyOf: [schema, { type: 'array', minItems: 1, items: schema }] };
}

function toExamples({ name }: MethodDescription) {
  const { params = {}, result = {} } = toJson(EXAMPLES[name] ?? {});
  const message = { jsonrpc: '2.0', id: 1 };
  return [
    [`${name}.request`, { value: { ...message, method: name, params } }],
    [`${name}.answer`, { value: { ...message, result } }],
  ] as const;
}

function toWebhook(push: PushDescription): JsonObject {
  const { method, summary, to, example } = push;
  return {
    post: {
      summary,
      description: `Goes to ${to}`,
      requestBody: {
        content: {
          'application/json': {
            schema: toNotificationSchema(push),
            example: { jsonrpc: '2.0', method, params: toJson(example) },
          },
        },
      },
      responses: { '204': { description: 'A notification gets no answer' } },
    },
  };
}

/** What the example shows is what is always there; some events say more. */
function toNotificationSchema({ method, example }: PushDescription): JsonObject {
  const fields = Object.entries(toJson(example));
  const properties = Object.fromEntries(fields.map(([name, value]) => [name, toTypeOf(value)]));
  return {
    type: 'object',
    required: ['jsonrpc', 'method', 'params'],
    properties: {
      jsonrpc: { const: '2.0' },
      method: { const: method },
      params: { type: 'object', required: ['session_id'], properties },
    },
  };
}

function toTypeOf(value: Json): JsonObject {
  return { type: typeof value === 'object' ? 'object' : typeof value };
}

function toFailure(description: string): JsonObject {
  return { description, content: { 'application/json': { schema: toRef('failure') } } };
}

function toRef(schema: string): JsonObject {
  return { $ref: refTo(schema) };
}

function refTo(schema: string): string {
  return `#/components/schemas/${schema}`;
}

/** Examples are JSON, and typed as what their schemas say. */
function toJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value));
}
