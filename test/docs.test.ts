import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agentsFileSchema, silentLog } from '@starloom/core';
import { gatewayConfigSchema } from '@starloom/gateway/config';
import { openRegistry } from '@starloom/registry';
import { describe, expect, it, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { UNAVAILABLE_REGISTRIES } from '../scripts/config-docs.ts';
import { DOCS, docUrl } from '../scripts/write-docs.ts';
import { codeBlocks } from './support/code-blocks.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const PAGES = globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md'], { cwd: ROOT });

test.each(Object.entries(DOCS))('%s is what the code says', (path, text) => {
  const written = readFileSync(docUrl(path), 'utf8');
  expect(written, `${path} is out of date: run "npm run docs"`).toBe(text());
});

describe('docs/configuration.md', () => {
  const page = readFileSync(docUrl('docs/configuration.md'), 'utf8');

  it('has a row for every key of the gateway, with its effective default', () => {
    const { registry, coordination, jobs, journal, ...sections } = gatewayConfigSchema.parse({});
    for (const [section, values] of Object.entries(sections)) {
      for (const [key, value] of Object.entries(values)) {
        const row = page.split('\n').find((line) => line.startsWith(`| \`${section}.${key}\` |`));
        expect(row, `${section}.${key}`).toContain(`\`${JSON.stringify(value)}\``);
      }
    }
    for (const { kind } of [registry, coordination, jobs, journal])
      expect(page).toContain(`kind: ${kind}`);
  });

  it('has a row for every key of an agent', () => {
    const { shape } = agentsFileSchema.element;
    for (const key of Object.keys(shape)) expect(page).toContain(`| \`${key}\` |`);
  });

  it('names the registries that are not available, and only those', async () => {
    const dependencies = { folder: ROOT, log: silentLog };
    for (const kind of UNAVAILABLE_REGISTRIES) {
      const opened = openRegistry({ kind }, dependencies);
      await expect(opened).rejects.toMatchObject({ details: { reason: 'not_available' } });
    }
  });
});

test.each(PAGES)('%s links to files and headings that exist', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8').replace(/```.*?```/gs, '');
  const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => !isThere(page, target));
  expect(broken).toEqual([]);
});

test.each(PAGES)('%s shows JSON and YAML that parse', (page) => {
  const blocks = codeBlocks(readFileSync(join(ROOT, page), 'utf8'));
  for (const { language, code } of blocks) {
    if (language === 'json') expect(() => JSON.parse(code), code).not.toThrow();
    if (language === 'yaml')
      expect(
        parseAllDocuments(code).flatMap(({ errors }) => errors),
        code,
      ).toEqual([]);
  }
});

/** Words of translated prose; each has a plain one. */
const STILTED = /\b(told|whoever|nobody|somebody|everybody|anew|mend|over the heads)\b/gi;

test.each(PAGES)('%s is written in plain words', (page) => {
  expect(readFileSync(join(ROOT, page), 'utf8').match(STILTED)).toBeNull();
});

function isThere(page: string, target: string): boolean {
  const [path = '', heading] = target.split('#');
  const file = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
  if (!existsSync(join(ROOT, file))) return false;
  if (heading === undefined) return true;
  return headingsOf(readFileSync(join(ROOT, file), 'utf8')).includes(heading);
}

/** As web pages make anchors of headings. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}
