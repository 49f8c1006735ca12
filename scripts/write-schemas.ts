// Writes the JSON Schemas of our files. They are checked in, so that editors can use them from a
// checkout or a package; test/schemas.test.ts fails when one is out of date.

import { mkdirSync, writeFileSync } from 'node:fs';
import { jsonSchemaFor } from '../packages/starloom/src/config-files.ts';

/** By path, as the text of the file. */
export const SCHEMAS: Readonly<Record<string, () => string>> = {
  'packages/gateway/schemas/starloom.schema.json': () => toText(jsonSchemaFor('starloom')),
  'packages/core/schemas/agents.schema.json': () => toText(jsonSchemaFor('agents')),
};

const root = new URL('../', import.meta.url);

export function schemaUrl(path: string): URL {
  return new URL(path, root);
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
