import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Lower it when the road gets shorter; it grows for nothing. */
const BUDGET = { files: 68, lines: 10_900 };

describe('the road of one warm fabric.call', () => {
  let road = '';

  beforeAll(async () => {
    const args = ['--conditions=@starloom/source', 'scripts/road.ts'];
    road = (await promisify(execFile)(process.execPath, args, { cwd: root })).stdout;
  });

  it('stays within its budget of files and lines', () => {
    const [, files, lines] = /^(\d+) files, (\d+) lines$/m.exec(road) ?? [];
    expect(Number(files)).toBeGreaterThan(0);
    expect(Number(files)).toBeLessThanOrEqual(BUDGET.files);
    expect(Number(lines)).toBeLessThanOrEqual(BUDGET.lines);
  });

  it('is the one that docs/architecture.md shows', () => {
    const page = readFileSync(`${root}/docs/architecture.md`, 'utf8');
    const [, shown] = /<!-- road -->\n```text\n([^`]*)```/.exec(page) ?? [];
    const fix = 'run "npm run road -- --write"';
    expect(filesIn(shown ?? ''), fix).toEqual(filesIn(road));
  });
});

/** Without the lines, which change with every commit. */
function filesIn(road: string): string[] {
  return road.split('\n').filter((row) => !/^\d+ files/.test(row));
}
