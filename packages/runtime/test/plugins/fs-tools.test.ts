import { chmod, mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenedPlugin, openPlugin } from './open-plugin.ts';

const refused = (reason: string) =>
  expect.objectContaining({
    code: 'BAD_INPUT',
    details: expect.objectContaining({ reason, fix: expect.any(String) }),
  });

describe('the tools of the fs plugin', () => {
  let folder: TemporaryFolder;
  let fs: OpenedPlugin;
  const at = (path: string) => join(folder.path, path);
  const put = (path: string, content: string | Uint8Array) => writeFile(at(path), content);

  beforeEach(async () => {
    folder = await temporaryFolder();
    fs = await openPlugin('fs', { folder: folder.path, config: { max_bytes: 1_000 } });
  });

  afterEach(async () => {
    await fs[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  it('have the names, slash commands and risks that agents rely on', () => {
    const shown = [...fs.tools.values()].map(({ name, command, effect }) => [
      name,
      command,
      effect,
    ]);
    expect(shown).toEqual([
      ['fs:read_file', 'read', 'read'],
      ['fs:list', 'list', 'read'],
      ['fs:search', 'search', 'read'],
      ['fs:write_file', 'write', 'act'],
      ['fs:edit_file', 'edit', 'act'],
    ]);
    expect(Object.keys(fs.tools.get('fs:read_file')?.parameters.properties ?? {})[0]).toBe('path');
  });

  it('are only those that read when the plugin is read-only', async () => {
    await using reading = await openPlugin('fs', {
      folder: folder.path,
      config: { read_only: true },
    });
    expect([...reading.tools.keys()]).toEqual(['fs:read_file', 'fs:list', 'fs:search']);
  });

  describe('fs:read_file', () => {
    it('gives a file as it is, and a range of its lines', async () => {
      await put('a.txt', '\uFEFFone\ntwo\nthree');
      expect(await fs.run('fs:read_file', { path: 'a.txt' })).toBe('\uFEFFone\ntwo\nthree');
      const range = { path: 'a.txt', first_line: 2, lines: 1 };
      expect(await fs.run('fs:read_file', range)).toBe('two\n');
      expect(await fs.run('fs:read_file', { path: 'a.txt', first_line: 9 })).toBe('');
    });

    it('refuses a large file, however large, but not a part of it', async () => {
      await using file = await open(at('large.txt'), 'w');
      await file.write('first\nsecond\n');
      await file.truncate(5 * 2 ** 30);
      const read = fs.run('fs:read_file', { path: 'large.txt' });
      await expect(read).rejects.toThrow(refused('file_too_large'));
      const range = { path: 'large.txt', first_line: 1, lines: 2 };
      expect(await fs.run('fs:read_file', range)).toBe('first\nsecond\n');
      const rest = fs.run('fs:read_file', { path: 'large.txt', first_line: 3 });
      await expect(rest).rejects.toThrow(expect.objectContaining({ code: 'UPSTREAM_ERROR' }));
    });

    it('refuses a range that is too large, and says how much would fit', async () => {
      await put('lines.txt', 'x'.repeat(99).concat('\n').repeat(20));
      const read = fs.run('fs:read_file', { path: 'lines.txt', first_line: 1 });
      await expect(read).rejects.toThrow(refused('range_too_large'));
    });

    it.each([
      ['bytes that are no UTF-8', Uint8Array.of(0xff, 0xfe, 0x41)],
      ['a NUL', Uint8Array.of(0x41, 0, 0x42)],
    ])('refuses %s', async (_, bytes) => {
      await put('binary', bytes);
      const read = fs.run('fs:read_file', { path: 'binary' });
      await expect(read).rejects.toThrow(refused('binary'));
    });

    it('says of what is not there, or may not be read, what to do', async () => {
      const missing = fs.run('fs:read_file', { path: 'none/none.txt' });
      await expect(missing).rejects.toThrow(refused('not_found'));
      await put('a.txt', '');
      const below = fs.run('fs:read_file', { path: 'a.txt/b' });
      await expect(below).rejects.toThrow(refused('not_a_folder'));
    });
  });

  describe('fs:write_file', () => {
    it('writes new files with the folders they need, and replaces old ones', async () => {
      const first = await fs.run('fs:write_file', { path: 'deep/er/a.txt', content: 'one' });
      expect(first).toEqual({ path: 'deep/er/a.txt', bytes: 3, created: true });
      const second = await fs.run('fs:write_file', { path: 'deep/er/a.txt', content: 'zwö' });
      expect(second).toEqual({ path: 'deep/er/a.txt', bytes: 4, created: false });
      expect(await readFile(at('deep/er/a.txt'), 'utf8')).toBe('zwö');
      expect(await readdir(at('deep/er'))).toEqual(['a.txt']);
    });

    it('keeps the mode of a file', async () => {
      await put('run.sh', 'old');
      await chmod(at('run.sh'), 0o750);
      await fs.run('fs:write_file', { path: 'run.sh', content: 'new' });
      expect((await stat(at('run.sh'))).mode & 0o777).toBe(0o750);
    });

    it('never shows a reader a part of a file', async () => {
      const contents = ['a'.repeat(1_000), 'b'.repeat(1_000)];
      await put('whole.txt', contents[0] ?? '');
      let isOver = false;
      const seen = new Set<string>();
      const reading = (async () => {
        while (!isOver) seen.add(await readFile(at('whole.txt'), 'utf8'));
      })();
      for (let n = 0; n < 50; n += 1) {
        await fs.run('fs:write_file', { path: 'whole.txt', content: contents[n % 2] });
      }
      isOver = true;
      await reading;
      expect(contents).toEqual(expect.arrayContaining([...seen]));
    });

    it('refuses what is too large, and leaves what was there', async () => {
      await put('a.txt', 'old');
      const write = fs.run('fs:write_file', { path: 'a.txt', content: 'x'.repeat(1_001) });
      await expect(write).rejects.toThrow(refused('content_too_large'));
      expect(await readFile(at('a.txt'), 'utf8')).toBe('old');
    });

    it('refuses a folder and what would lie in a file', async () => {
      await mkdir(at('folder'));
      await put('file', '');
      const onFolder = fs.run('fs:write_file', { path: 'folder', content: '' });
      await expect(onFolder).rejects.toThrow(refused('not_a_file'));
      const inFile = fs.run('fs:write_file', { path: 'file/x', content: '' });
      await expect(inFile).rejects.toThrow(refused('not_a_folder'));
    });
  });

  describe('fs:edit_file', () => {
    const edit = (old_text: string, new_text: string, more: object = {}) =>
      fs.run('fs:edit_file', { path: 'a.txt', old_text, new_text, ...more });

    it('replaces a text that stands there once, or every one when all is set', async () => {
      await put('a.txt', 'one two two $&');
      expect(await edit('one', '$& $1')).toEqual({ path: 'a.txt', replaced: 1 });
      expect(await edit('two', '2', { all: true })).toEqual({ path: 'a.txt', replaced: 2 });
      expect(await readFile(at('a.txt'), 'utf8')).toBe('$& $1 2 2 $&');
    });

    it('refuses a text that is not there, or there more than once, and changes nothing', async () => {
      await put('a.txt', 'two two');
      await expect(edit('three', '3')).rejects.toThrow(refused('text_not_found'));
      await expect(edit('two', '2')).rejects.toThrow(refused('text_not_unique'));
      expect(await readFile(at('a.txt'), 'utf8')).toBe('two two');
    });

    it('loses none of many edits at once', async () => {
      const marks = Array.from({ length: 30 }, (_, index) => `<${index}>`);
      await put('a.txt', marks.join(' '));
      await Promise.all(marks.map((mark) => edit(mark, mark.replace('<', '[').replace('>', ']'))));
      const edited = marks.map((mark) => `[${mark.slice(1, -1)}]`).join(' ');
      expect(await readFile(at('a.txt'), 'utf8')).toBe(edited);
    });
  });

  describe('fs:list and fs:search', () => {
    beforeEach(async () => {
      await mkdir(at('src/inner'), { recursive: true });
      await mkdir(at('node_modules/some'), { recursive: true });
      await put('b.md', 'Needle here\nnothing\nanother needle');
      await put('src/a.ts', 'const needle = 1;\r\n');
      await put('src/inner/c.bin', Uint8Array.of(0, 1, 2));
      await put('node_modules/some/index.js', 'needle');
    });

    it('list a folder by name, and as many levels as are asked for', async () => {
      expect(await fs.run('fs:list')).toBe('b.md\nnode_modules/\nsrc/');
      expect(await fs.run('fs:list', { path: 'src', depth: 2 })).toBe(
        'src/a.ts\nsrc/inner/\nsrc/inner/c.bin',
      );
      expect(await fs.run('fs:list', { path: 'src/inner' })).toBe('src/inner/c.bin');
    });

    it('say when a folder is empty, or none', async () => {
      await mkdir(at('empty'));
      expect(await fs.run('fs:list', { path: 'empty' })).toBe('(empty)');
      await expect(fs.run('fs:list', { path: 'b.md' })).rejects.toThrow(refused('not_a_folder'));
    });

    it('find a text as it stands, by file name and without regard to case', async () => {
      expect(await fs.run('fs:search', { text: 'needle' })).toBe(
        'b.md:3: another needle\nsrc/a.ts:1: const needle = 1;',
      );
      const ignoring = { text: 'NEEDLE', ignore_case: true, files: '*.md' };
      expect(await fs.run('fs:search', ignoring)).toBe(
        'b.md:1: Needle here\nb.md:3: another needle',
      );
      expect(await fs.run('fs:search', { text: '.*', path: 'src' })).toBe('(nothing found)');
      expect(await fs.run('fs:search', { text: 'another', path: 'b.md' })).toBe(
        'b.md:3: another needle',
      );
    });

    it('show only so much, and say that there is more', async () => {
      await put('many.txt', 'n\n'.repeat(400));
      const found = String(await fs.run('fs:search', { text: 'n', path: 'many.txt' })).split('\n');
      expect(found).toHaveLength(201);
      expect(found.at(-1)).toMatch(/only the first 200/);
    });

    it('stop when nobody waits any more', async () => {
      const signal = AbortSignal.abort(new Error('left'));
      await expect(fs.run('fs:search', { text: 'needle' }, { signal })).rejects.toThrow();
    });
  });
});
