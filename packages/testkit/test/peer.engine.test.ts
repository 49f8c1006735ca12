import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareGo, preparePython, temporaryFolder } from '../src/index.ts';

describe('a peer that cannot be prepared', () => {
  it('is missing with what its compiler said, and a failure where it must exist', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'go.mod'), 'module starloom.test/broken\n');
    await writeFile(join(folder.path, 'main.go'), 'package main\nfunc main() { missing() }\n');
    const options = { cache: join(folder.path, 'cache') };
    expect(await prepareGo(folder.path, { ...options, mustExist: false })).toMatchObject({
      found: false,
      reason: expect.stringContaining('undefined: missing'),
    });
    await expect(prepareGo(folder.path, { ...options, mustExist: true })).rejects.toThrow(
      'go is needed here',
    );
  });

  it('is missing with what its package installer said', async () => {
    await using folder = await temporaryFolder();
    const requirements = join(folder.path, 'requirements.txt');
    await writeFile(requirements, `${join(folder.path, 'no-such-package')}\n`);
    const options = { cache: join(folder.path, 'cache'), mustExist: false };
    expect(await preparePython(requirements, options)).toMatchObject({
      found: false,
      reason: expect.stringContaining('no-such-package'),
    });
  });
});
