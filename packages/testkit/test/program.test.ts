import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findProgram, requireProgram, temporaryFolder } from '../src/index.ts';

const ABSENT = { names: ['starloom-no-such-program'], package: 'some-package' };

describe('findProgram', () => {
  it('finds a program on PATH', async () => {
    expect(await findProgram(['sh'])).toMatch(/\/sh$/);
  });

  it('takes the newest of the folders a pattern names', async () => {
    await using folder = await temporaryFolder();
    for (const version of ['9', '15', '14']) await addProgram(join(folder.path, version), 'server');
    const found = await findProgram(['server'], [join(folder.path, '*')]);
    expect(found).toBe(join(folder.path, '15', 'server'));
  });

  it('prefers the first name, wherever it is', async () => {
    await using folder = await temporaryFolder();
    await addProgram(join(folder.path, 'a'), 'second');
    await addProgram(join(folder.path, 'b'), 'first');
    const folders = [join(folder.path, 'a'), join(folder.path, 'b')];
    expect(await findProgram(['first', 'second'], folders)).toBe(join(folder.path, 'b', 'first'));
  });

  it('finds neither folders nor files that cannot be executed', async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, 'a-folder'));
    await writeFile(join(folder.path, 'a-file'), '', { mode: 0o644 });
    expect(await findProgram(['a-folder', 'a-file'], [folder.path])).toBeUndefined();
  });
});

describe('requireProgram', () => {
  it('installs nothing when the program is there', async () => {
    const install = async () => expect.unreachable();
    const definition = { names: ['sh'], package: 'dash' };
    expect(await requireProgram(definition, { install })).toMatchObject({ found: true });
  });

  it('installs the package and finds the program it brought', async () => {
    await using folder = await temporaryFolder();
    const asked: string[] = [];
    const result = await requireProgram(
      { ...ABSENT, folders: [folder.path] },
      {
        install: async (name) => {
          asked.push(name);
          await addProgram(folder.path, 'starloom-no-such-program');
          return { installed: true };
        },
      },
    );
    expect(asked).toEqual(['some-package']);
    expect(result).toEqual({ found: true, path: join(folder.path, 'starloom-no-such-program') });
  });

  it('says what is missing and how to get it', async () => {
    const install = async () => ({ installed: false, reason: 'no network' }) as const;
    expect(await requireProgram(ABSENT, { install, mustExist: false })).toEqual({
      found: false,
      reason: 'no network',
      howToInstall: 'apt-get install some-package, or put starloom-no-such-program on PATH',
    });
  });

  it('fails where the program must exist', async () => {
    const install = async () => ({ installed: true }) as const;
    const requiring = requireProgram(ABSENT, { install, mustExist: true });
    await expect(requiring).rejects.toThrow(/apt-get install some-package/);
  });
});

async function addProgram(folder: string, name: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), '#!/bin/sh\n');
  await chmod(join(folder, name), 0o755);
}
