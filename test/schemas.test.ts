import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SCHEMAS, schemaUrl } from '../scripts/write-schemas.ts';

test.each(Object.entries(SCHEMAS))('%s is what the code says', (path, text) => {
  const written = readFileSync(schemaUrl(path), 'utf8');
  expect(written, `${path} is out of date: run "npm run schemas"`).toBe(text());
});

test.each(Object.entries(SCHEMAS))('%s names its draft, itself and its title', (_, text) => {
  expect(JSON.parse(text())).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: expect.stringMatching(/^urn:starloom:schema:/),
    title: expect.any(String),
  });
});
