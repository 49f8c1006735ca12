import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { INCIDENTS, type Incident } from './incidents.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** As docs/security.md has it. */
function toRow({ id, what, tests }: Incident): string {
  const files = Object.keys(tests).map((file) => `[${nameOf(file)}](../${file})`);
  return `| ${id} | ${what} | ${files.join(', ')} |`;
}

function nameOf(file: string): string {
  return file.replace(/^(?:packages\/([a-z-]+)\/)?test\//, (_, name) => (name ? `${name}/` : ''));
}

describe('incidents of others', () => {
  it('are all there, each once and in order', () => {
    const expected = Array.from({ length: 32 }, (_, index) => `T${index + 1}`);
    expect(INCIDENTS.map(({ id }) => id)).toEqual(expected);
  });

  it.each(INCIDENTS.map((incident) => [incident.id, incident] as const))(
    '%s has tests that exist',
    (_, { tests }) => {
      expect(Object.values(tests).flat()).not.toEqual([]);
      for (const [file, names] of Object.entries(tests)) {
        const text = read(file);
        for (const name of names) expect(text, `${file}: ${name}`).toContain(name);
      }
    },
  );

  it('are in docs/security.md as they are here', () => {
    const documented = read('docs/security.md')
      .split('\n')
      .filter((line) => /^\| T\d+ \|/.test(line));
    expect(documented).toEqual(INCIDENTS.map(toRow));
  });
});
