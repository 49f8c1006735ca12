import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { runProgram, type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenedPlugin, openPlugin } from './open-plugin.ts';

const denied = (reason: string) =>
  expect.objectContaining({
    code: 'POLICY_DENIED',
    details: expect.objectContaining({ reason, fix: expect.any(String) }),
  });
const refused = (reason: string) =>
  expect.objectContaining({
    code: 'BAD_INPUT',
    details: expect.objectContaining({ reason }),
  });

/** Every way in; each must be as closed as the others. */
const WAYS: readonly (readonly [string, (path: string) => object])[] = [
  ['fs:read_file', (path) => ({ path })],
  ['fs:read_file', (path) => ({ path, first_line: 1 })],
  ['fs:write_file', (path) => ({ path, content: 'changed' })],
  ['fs:edit_file', (path) => ({ path, old_text: 'secret', new_text: 'changed' })],
  ['fs:list', (path) => ({ path })],
  ['fs:search', (path) => ({ path, text: 'secret' })],
];

describe('the folders that the fs plugin may use', () => {
  let world: TemporaryFolder;
  let root: string;
  let fs: OpenedPlugin;

  beforeEach(async () => {
    world = await temporaryFolder();
    root = join(world.path, 'root');
    await mkdir(join(root, 'sub'), { recursive: true });
    await mkdir(join(world.path, 'outside'));
    await mkdir(join(world.path, 'root-sibling'));
    await writeFile(join(root, 'inside.txt'), 'inside');
    await writeFile(join(world.path, 'outside', 'secret.txt'), 'secret');
    await writeFile(join(world.path, 'root-sibling', 'secret.txt'), 'secret');
    fs = await openPlugin('fs', { folder: world.path, config: { roots: ['root'] } });
  });

  afterEach(async () => {
    expect(await readFile(join(world.path, 'outside', 'secret.txt'), 'utf8')).toBe('secret');
    expect(await readdir(join(world.path, 'outside'))).toEqual(['secret.txt']);
    await fs[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  describe.each(WAYS)('by %s', (tool, argsFor) => {
    const run = (path: string) => fs.run(tool, argsFor(path));

    it.each([
      '../outside/secret.txt',
      'sub/../../outside/secret.txt',
      'sub/../inside.txt',
      '..\\outside\\secret.txt',
      '..',
    ])('are not left by %s', async (path) => {
      await expect(run(path)).rejects.toThrow(denied('parent_segment'));
    });

    it('are not left by an absolute path', async () => {
      const path = join(world.path, 'outside', 'secret.txt');
      await expect(run(path)).rejects.toThrow(denied('outside_roots'));
      await expect(run('/etc/passwd')).rejects.toThrow(denied('outside_roots'));
    });

    it('do not include a sibling whose name begins the same', async () => {
      await expect(run(`${root}-sibling/secret.txt`)).rejects.toThrow(denied('outside_roots'));
    });

    it('are not left by a link to a file, to a folder or to a link', async () => {
      await symlink('../outside/secret.txt', join(root, 'file-link'));
      await symlink(join(world.path, 'outside'), join(root, 'folder-link'));
      await symlink('file-link', join(root, 'link-link'));
      await symlink('../../outside', join(root, 'sub', 'up'));
      for (const path of ['file-link', 'folder-link/secret.txt', 'link-link', 'sub/up']) {
        await expect(run(path)).rejects.toThrow(denied('symlink_out'));
      }
    });

    it('are not left by something new behind a link', async () => {
      await symlink(join(world.path, 'outside'), join(root, 'folder-link'));
      await expect(run('folder-link/new.txt')).rejects.toThrow(denied('symlink_out'));
      await expect(run('folder-link/new/deep/new.txt')).rejects.toThrow(denied('symlink_out'));
    });

    it('are not left by a link to what does not exist yet', async () => {
      await symlink(join(world.path, 'outside', 'new.txt'), join(root, 'dangling'));
      await expect(run('dangling')).rejects.toThrow(denied('dangling_symlink'));
      await expect(run('dangling/below')).rejects.toThrow(denied('dangling_symlink'));
    });

    it.each(['', 'a\0b', '/etc/passwd\0.txt'])('refuse %j as no path', async (path) => {
      await expect(run(path)).rejects.toThrow(refused('bad_path'));
    });

    it('refuse links in a circle', async () => {
      await symlink('circle', join(root, 'circle'));
      await expect(run('circle')).rejects.toThrow(refused('link_loop'));
    });
  });

  it('may be named with or without the root, through links that stay inside, and with dots', async () => {
    await symlink('inside.txt', join(root, 'inner-link'));
    await writeFile(join(root, '..odd'), 'odd');
    for (const path of ['inside.txt', './inside.txt', join(root, 'inside.txt'), 'inner-link']) {
      expect(await fs.run('fs:read_file', { path })).toBe('inside');
    }
    expect(await fs.run('fs:read_file', { path: '..odd' })).toBe('odd');
  });

  it('may be links themselves', async () => {
    await symlink(root, join(world.path, 'alias'));
    await using aliased = await openPlugin('fs', {
      folder: world.path,
      config: { roots: ['alias'] },
    });
    for (const path of ['inside.txt', join(world.path, 'alias', 'inside.txt')]) {
      expect(await aliased.run('fs:read_file', { path })).toBe('inside');
    }
  });

  it('may be several, each by its absolute path', async () => {
    const config = { roots: ['root', 'root-sibling'] };
    await using two = await openPlugin('fs', { folder: world.path, config });
    const path = join(world.path, 'root-sibling', 'secret.txt');
    expect(await two.run('fs:read_file', { path })).toBe('secret');
    const outside = join(world.path, 'outside', 'secret.txt');
    await expect(two.run('fs:read_file', { path: outside })).rejects.toThrow(
      denied('outside_roots'),
    );
  });

  it('must exist', async () => {
    const config = { roots: ['nowhere'] };
    await expect(openPlugin('fs', { folder: world.path, config })).rejects.toThrow(
      refused('bad_root'),
    );
  });

  it('show no more of a link than that it is there when they are listed or searched', async () => {
    await symlink(join(world.path, 'outside'), join(root, 'folder-link'));
    const listed = await fs.run('fs:list', { depth: 5 });
    expect(String(listed).split('\n')).toEqual(['folder-link@', 'inside.txt', 'sub/']);
    expect(await fs.run('fs:search', { text: 'secret' })).toBe('(nothing found)');
  });

  it('hold devices, pipes and sockets that are neither read nor replaced', async () => {
    await runProgram({ command: 'mkfifo', args: [join(root, 'pipe')] }, 10_000);
    const server = createServer().listen(join(root, 'socket'));
    await once(server, 'listening');
    await using devices = await openPlugin('fs', { folder: '/', config: { roots: ['/dev'] } });
    for (const [plugin, path] of [
      [fs, 'pipe'],
      [fs, 'socket'],
      [fs, 'sub'],
      [devices, 'zero'],
    ] as const) {
      await expect(plugin.run('fs:read_file', { path })).rejects.toThrow(refused('not_a_file'));
      const write = plugin.run('fs:write_file', { path, content: '' });
      await expect(write).rejects.toThrow(refused('not_a_file'));
    }
    server.close();
  });

  it('stay closed while a folder of theirs becomes a link to the outside and back', async () => {
    const folder = join(root, 'sub');
    let isOver = false;
    let swaps = 0;
    const swap = async () => {
      for (; !isOver; swaps += 1) {
        await rename(folder, `${folder}-away`);
        await symlink(join(world.path, 'outside'), folder).catch(() => {});
        await rm(folder, { recursive: true, force: true });
        await rename(`${folder}-away`, folder);
      }
    };
    const swapping = swap();
    for (let n = 0; n < 100 || swaps < 20; n += 1) {
      const path = n % 2 ? 'sub/new.txt' : `sub/${n}/new.txt`;
      await fs.run('fs:write_file', { path, content: 'x' }).catch(() => {});
      await fs.run('fs:read_file', { path: 'sub/secret.txt' }).then(
        () => expect.unreachable(),
        () => {},
      );
    }
    isOver = true;
    await swapping;
  });

  it('list and search no names of the outside while a folder of theirs is swapped', async () => {
    const folder = join(root, 'sub');
    await writeFile(join(folder, 'own.txt'), 'own');
    let isOver = false;
    let swaps = 0;
    const swap = async () => {
      for (; !isOver; swaps += 1) {
        await rename(folder, `${folder}-away`);
        await symlink(join(world.path, 'outside'), folder);
        await rm(folder);
        await rename(`${folder}-away`, folder);
      }
    };
    const swapping = swap();
    const shown: string[] = [];
    for (let n = 0; n < 600 || swaps < 300; n += 1) {
      const list = { path: n % 2 ? 'sub' : '.', depth: 3 };
      shown.push(String(await fs.run('fs:list', list).catch(() => '')));
    }
    isOver = true;
    await swapping;
    expect(shown.filter((text) => text.includes('secret'))).toEqual([]);
    expect(shown.some((text) => text.includes('own.txt'))).toBe(true);
  });

  it('hold git repositories whose inside is not written to', async () => {
    await mkdir(join(root, '.git'));
    for (const path of ['.git/config', '.git/hooks/pre-commit', 'sub/.GIT/config']) {
      const write = fs.run('fs:write_file', { path, content: 'x' });
      await expect(write).rejects.toThrow(denied('git_internals'));
    }
  });
});
