import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { REQUIREMENTS } from './requirements.ts';

const TEST_FILES = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'];
/** A test's title, from its opening quote on: `it('[G1] …`, `test.each(…)('[G1][G2] …`. */
const TITLE = /\b(?:it|test|describe)(?:\.\w+)?(?:\([^)]*\))?\(\s*['"`]((?:\[[A-Z]\d+\])+)/g;

const root = fileURLToPath(new URL('..', import.meta.url));
const citations = new Map<string, Set<string>>();
for (const file of globSync(TEST_FILES, { cwd: root, exclude: ['**/node_modules/**'] })) {
  for (const [, ids = ''] of readFileSync(root + file, 'utf8').matchAll(TITLE)) {
    for (const [id] of ids.matchAll(/[A-Z]\d+/g)) {
      citations.set(id, (citations.get(id) ?? new Set()).add(file));
    }
  }
}

it('every claimed requirement is cited by a test', () => {
  const unproven = REQUIREMENTS.filter(({ id, claimed }) => claimed && !citations.has(id));
  expect(unproven.map(({ id, sentence }) => `${id}: ${sentence}`)).toEqual([]);
});

it('tests cite only requirements that exist', () => {
  const known = new Set(REQUIREMENTS.map(({ id }) => id));
  expect([...citations.keys()].filter((id) => !known.has(id))).toEqual([]);
});

it('prints what is proven and what is not claimed yet', () => {
  const claimed = REQUIREMENTS.filter((requirement) => requirement.claimed);
  const lines = REQUIREMENTS.map(({ id, sentence, claimed: isClaimed }) => {
    const files = citations.get(id)?.size ?? 0;
    const mark = isClaimed ? `proven in ${files} ${files === 1 ? 'file' : 'files'}` : 'not claimed';
    return `${id.padEnd(4)} ${mark.padEnd(18)} ${sentence.slice(0, 90)}`;
  });
  console.info(
    `${lines.join('\n')}\n${claimed.length} of ${REQUIREMENTS.length} requirements claimed`,
  );
  expect(REQUIREMENTS.length).toBeGreaterThan(70);
});
