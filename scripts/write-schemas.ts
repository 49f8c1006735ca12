// Writes the JSON Schemas of our files and wire documents. They are checked in, so that editors and
// agents in other languages can use them from a checkout or a package; test/schemas.test.ts fails when one is out of date.

import { mkdirSync, writeFileSync } from 'node:fs';
import { envelopeSchema, errorPayloadSchema, eventSchema } from '@starloom/core';
import { z } from 'zod';
import { jsonSchemaFor } from '../packages/starloom/src/commands/config.ts';

/** By path, as the text of the file. */
export const SCHEMAS: Readonly<Record<string, () => string>> = {
  'packages/gateway/schemas/starloom.schema.json': () => toText(jsonSchemaFor('starloom')),
  'packages/core/schemas/agents.schema.json': () => toText(jsonSchemaFor('agents')),
  'packages/runtime/schemas/agent.schema.json': () => toText(jsonSchemaFor('agent')),
  'packages/runtime/schemas/agent-toml.schema.json': () => toText(jsonSchemaFor('agent-toml')),
  'packages/core/schemas/envelope.schema.json': () =>
    wireSchema(envelopeSchema, 'envelope', 'One call, as agents receive it'),
  'packages/core/schemas/event.schema.json': () =>
    wireSchema(eventSchema, 'event', 'One event of what comes back of a call'),
  'packages/core/schemas/error.schema.json': () =>
    wireSchema(errorPayloadSchema, 'error', 'The one failure payload'),
};

const root = new URL('../', import.meta.url);

export function schemaUrl(path: string): URL {
  return new URL(path, root);
}

function wireSchema(schema: z.ZodType, name: string, title: string): string {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'output' });
  return toText({ $schema, $id: `urn:starloom:schema:${name}`, title, ...rest });
}

function toText(schema: Record<string, unknown>): string {
  return `${JSON.stringify(schema, null, 2)}\n`;
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, text] of Object.entries(SCHEMAS)) {
    mkdirSync(new URL('.', schemaUrl(path)), { recursive: true });
    writeFileSync(schemaUrl(path), text());
    console.log(`wrote ${path}`);
  }
}
