import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { writeAlwaysRule } from '../../src/config/write-always-rule.ts';

const GIVEN = { tool: 'fs:write_file', targets: { path: ['a "b".md', 'c.md'] } };
const RULE = `[[security.always]]
tool = "fs:write_file"
targets = { "path" = ["a \\"b\\".md","c.md"] }
`;

/** The file after the rule was written into `before`. */
async function written(before: string | undefined): Promise<string> {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agent.toml');
  if (before !== undefined) await writeFile(file, before, { mode: 0o600 });
  expect(await writeAlwaysRule(folder.path, GIVEN)).toBe(file);
  expect(await readdir(folder.path)).toEqual(['agent.toml']);
  if (before !== undefined && process.platform !== 'win32') {
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  }
  return await readFile(file, 'utf8');
}

describe('a rule that a person gave with "always"', () => {
  it.each([
    ['makes the file', undefined, RULE],
    ['follows the rest', '# mine\n[acp]\nname = "x"\n', `# mine\n[acp]\nname = "x"\n\n${RULE}`],
    [
      'follows other rules',
      '[security.tools] # rules\n"git:*" = "ask"',
      `[security.tools] # rules\n"git:*" = "ask"\n\n${RULE}`,
    ],
    ['joins an earlier one', RULE, `${RULE}\n${RULE}`],
  ])('%s, and leaves the rest as it is', async (_, before, after) => {
    expect(await written(before)).toBe(after);
  });

  it.each([
    ['is written in another form', 'security = { tools = { "git:*" = "ask" } }\n'],
    ['is broken', '[security\n'],
  ])('does not touch a file that %s, and says what to add', async (_, before) => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'agent.toml'), before);
    await expect(writeAlwaysRule(folder.path, GIVEN)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'rule_not_written', fix: expect.stringContaining(RULE) },
    });
    expect(await readFile(join(folder.path, 'agent.toml'), 'utf8')).toBe(before);
    expect(await readdir(folder.path)).toEqual(['agent.toml']);
  });
});
