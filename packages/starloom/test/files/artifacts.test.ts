import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Artifact } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import {
  artifactLine,
  openFolder,
  safeFileName,
  saveArtifacts,
} from '../../src/files/artifacts.ts';
import { scratch } from '../run-starloom.ts';

const named = (name: string, text = 'new'): Artifact => ({
  id: name,
  name,
  media_type: 'text/plain',
  text,
});

describe('the name of a file', () => {
  it.each([
    ['report.md', 'report.md'],
    ['../../etc/passwd', '_.._etc_passwd'],
    ['..\\..\\x', '_.._x'],
    ['/absolute', '_absolute'],
    ['.bashrc', 'bashrc'],
    ['a\x1b[31m\u202eb\0.txt', 'ab.txt'],
    ['two\nlines', 'two lines'],
    ['C:x', 'C_x'],
    ['nul.txt', '_nul.txt'],
    ['..', 'artifact'],
    ['', 'artifact'],
    [`${'ä'.repeat(200)}.md`, `${'ä'.repeat(73)}.md`],
  ])('stays in its folder: %j', (name, safe) => {
    expect(safeFileName(name)).toBe(safe);
  });
});

describe('artifacts', () => {
  it('are shown by name, type and size, or by where they are', () => {
    expect(artifactLine(named('a\n\x1b[2Jb', 'äöü'))).toBe('a b, text/plain, 6 bytes');
    const data = Buffer.alloc(2_500).toString('base64');
    expect(artifactLine({ id: 'x', media_type: 'image/png', data })).toBe('x, image/png, 2.5 kB');
    expect(artifactLine({ id: 'x', media_type: 'image/png', uri: 'https://a/b' })).toBe(
      'x, image/png, at https://a/b',
    );
  });

  it('are written under names of their own, and nothing is overwritten', async () => {
    await using place = await scratch({ 'out/a.txt': 'old', 'outside.txt': 'outside' });
    const out = join(place.folder, 'out');
    await symlink('../outside.txt', join(out, 'link.txt'));
    const options = { folder: 'out', cwd: place.folder, force: false };
    await openFolder(options);
    const artifacts: Artifact[] = [
      named('a.txt'),
      named('a.txt', 'second'),
      named('link.txt'),
      { id: 'picture', media_type: 'image/png', data: 'AAEC' },
      { id: 'elsewhere', media_type: 'text/plain', uri: 'https://a/b' },
    ];
    expect(await saveArtifacts(artifacts, options)).toEqual(
      ['a-2.txt', 'a-3.txt', 'link-2.txt', 'picture.png'].map((name) => join('out', name)),
    );
    expect(await readFile(join(out, 'a.txt'), 'utf8')).toBe('old');
    expect(await readFile(join(out, 'a-3.txt'), 'utf8')).toBe('second');
    expect(await readFile(join(out, 'picture.png'))).toEqual(Buffer.from([0, 1, 2]));
    expect(await readFile(join(place.folder, 'outside.txt'), 'utf8')).toBe('outside');
  });

  it('overwrite with force, but not each other and not through a link', async () => {
    await using place = await scratch({ 'out/a.txt': 'old', 'outside.txt': 'outside' });
    const out = join(place.folder, 'out');
    await symlink('../outside.txt', join(out, 'link.txt'));
    const options = { folder: 'out', cwd: place.folder, force: true };
    await saveArtifacts([named('a.txt'), named('a.txt', 'second'), named('link.txt')], options);
    expect((await readdir(out)).sort()).toEqual(['a-2.txt', 'a.txt', 'link.txt']);
    expect(await readFile(join(out, 'a.txt'), 'utf8')).toBe('new');
    expect(await readFile(join(place.folder, 'outside.txt'), 'utf8')).toBe('outside');
  });

  it('are BAD_INPUT when they cannot be written', async () => {
    await using place = await scratch({ file: 'x' });
    await mkdir(join(place.folder, 'out/a.txt'), { recursive: true });
    const options = { folder: 'file', cwd: place.folder, force: true };
    await expect(openFolder(options)).rejects.toMatchObject({ code: 'BAD_INPUT' });
    await writeFile(join(place.folder, 'out/a.txt/b'), '');
    await expect(
      saveArtifacts([named('a.txt')], { ...options, folder: 'out' }),
    ).rejects.toMatchObject({ code: 'BAD_INPUT', details: { reason: 'not_writable' } });
  });
});
