// Writes the documentation and the types that are generated from tables in the code. They are
// checked in, so that they can be read on a web page; test/docs.test.ts fails when one is out of date.

import { writeFileSync } from 'node:fs';
import { configurationDocs } from './config-docs.ts';
import { coordinationDocs } from './coordination-docs.ts';
import { coordinationOpenApi } from './coordination-open-api.ts';
import { formatJson } from './format-json.ts';
import { methodTypes } from './method-types.ts';
import { optionDocs } from './option-docs.ts';
import { attacksPage, commandsPage } from './page-tables.ts';
import { reasonDocs } from './reason-docs.ts';

/** By path, as the text of the file. */
export const DOCS: Readonly<Record<string, () => string>> = {
  'docs/configuration.md': configurationDocs,
  'docs/agent-options.md': optionDocs,
  'docs/errors.md': reasonDocs,
  'docs/cli.md': commandsPage,
  'docs/proving.md': attacksPage,
  'docs/coordination.md': coordinationDocs,
  'packages/coordination/openapi.json': () => formatJson(coordinationOpenApi()),
  'packages/coordination-client/methods.d.ts': methodTypes,
};

const root = new URL('../', import.meta.url);

export function docUrl(path: string): URL {
  return new URL(path, root);
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, text] of Object.entries(DOCS)) {
    writeFileSync(docUrl(path), text());
    console.log(`wrote ${path}`);
  }
}
