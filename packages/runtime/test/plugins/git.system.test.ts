import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram, type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { childEnvironment } from '@starloom/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenedPlugin, openPlugin } from './open-plugin.ts';

const author = { name: 'Percy', email: 'percy@example.org' };
const refused = (reason: string) =>
  expect.objectContaining({ details: expect.objectContaining({ reason }) });

describe('the git plugin', () => {
  let world: TemporaryFolder;
  let repository: string;
  let git: OpenedPlugin;
  const at = (path: string) => join(repository, path);
  /** Git as its owner uses it, without any of our care. */
  const plain = async (...args: string[]) => {
    const extra = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    const env = childEnvironment({ extra });
    const identity = ['-c', 'user.name=Owner', '-c', 'user.email=owner@example.org'];
    const all = ['-C', repository, ...identity, ...args];
    const { code, stdout, stderr } = await runProgram({ command: 'git', args: all, env });
    expect({ args, code, stderr }).toMatchObject({ code: 0 });
    return stdout;
  };

  beforeEach(async () => {
    world = await temporaryFolder();
    repository = join(world.path, 'repository');
    await mkdir(repository);
    await plain('init', '--quiet', '--initial-branch=main');
    await writeFile(at('a.txt'), 'one\n');
    await plain('add', '.');
    await plain('commit', '--quiet', '--message=first');
    git = await openPlugin('git', { folder: repository, config: { author } });
  });

  afterEach(async () => {
    await git[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  it('looks at a repository: status, changes, history, one commit, branches', async () => {
    await writeFile(at('a.txt'), 'two\n');
    await writeFile(at('ä b.txt'), '');
    expect(await git.run('git:status')).toBe('## main\n M a.txt\n?? "ä b.txt"\n');
    expect(await git.run('git:diff')).toContain('-one\n+two');
    expect(await git.run('git:diff', { staged: true })).toBe('(no changes)');
    expect(await git.run('git:diff', { summary: true, revision: 'HEAD' })).toContain('1 file');
    expect(await git.run('git:log')).toMatch(/^[0-9a-f]+ \S+ Owner: first\n$/);
    expect(await git.run('git:show')).toContain('+one');
    expect(await git.run('git:show', { revision: 'HEAD:a.txt' })).toBe('one\n');
    expect(await git.run('git:branches')).toMatch(/^\* main [0-9a-f]+ first\n$/);
  });

  it('commits everything, or only some files, in the name it was given', async () => {
    await writeFile(at('a.txt'), 'two\n');
    await writeFile(at('b.txt'), 'b\n');
    await writeFile(at('c.txt'), 'c\n');
    const message = '--amend\n\n-m is no option here';
    await git.run('git:commit', { message, paths: ['b.txt'] });
    expect(await git.run('git:status')).toBe('## main\n M a.txt\n?? c.txt\n');
    expect(await git.run('git:commit', { message: 'rest' })).toMatch(/^[0-9a-f]+ rest$/);
    expect(await git.run('git:status')).toBe('## main\n');
    const log = await plain('log', '--format=%an <%ae> %cn %B');
    expect(log).toContain('Percy <percy@example.org> Percy rest');
    expect(log).toContain('-m is no option here');
    expect(await plain('rev-list', '--count', 'HEAD')).toBe('3');
  });

  it('says what git complains about, and when there is nothing to look at', async () => {
    const unknown = git.run('git:show', { revision: 'nowhere' });
    await expect(unknown).rejects.toThrow(refused('git_failed'));
    await expect(unknown).rejects.toThrow(/nowhere/);
    await expect(git.run('git:commit', { message: 'empty' })).rejects.toThrow(
      refused('git_failed'),
    );
    await using elsewhere = await openPlugin('git', { folder: world.path });
    await expect(elsewhere.run('git:status')).rejects.toThrow(refused('no_repository'));
  });

  it('asks whose commit it is when nobody said', async () => {
    await using nameless = await openPlugin('git', { folder: repository });
    await writeFile(at('a.txt'), 'two\n');
    await plain('config', 'user.name', 'Local');
    await plain('config', 'user.email', 'local@example.org');
    await nameless.run('git:commit', { message: 'by the configured user' });
    expect(await plain('log', '-1', '--format=%an')).toBe('Local');
  });

  it.each([
    ['git:diff', { revision: '--output=/tmp/x' }],
    ['git:diff', { revision: '--no-index' }],
    ['git:show', { revision: '-p' }],
    ['git:log', { revision: '--format=%x00' }],
    ['git:log', { revision: 'HEAD --all' }],
    ['git:diff', { paths: ['/etc/passwd', '/etc/group'] }],
    ['git:diff', { paths: ['../outside.txt', 'a.txt'] }],
    ['git:commit', { message: 'x', paths: ['../outside.txt'] }],
    ['git:status', { paths: ['a\0b'] }],
  ])('%s refuses the arguments %j', async (tool, args) => {
    await expect(git.run(tool, args)).rejects.toThrow(/expected/);
  });

  it('takes paths as they are written, be they options or patterns elsewhere', async () => {
    for (const name of ['--output=x', ':(top)', '*.txt']) await writeFile(at(name), 'x\n');
    await git.run('git:commit', { message: 'odd names', paths: ['--output=x', ':(top)', '*.txt'] });
    await writeFile(at('a.txt'), 'changed\n');
    expect(await git.run('git:diff', { paths: ['*.txt'] })).toBe('(no changes)');
    expect(await git.run('git:log', { paths: ['--output=x'] })).toContain('odd names');
    expect(await readdir(repository)).not.toContain('x');
  });

  it('shows no file through a link of the repository', async () => {
    await writeFile(join(world.path, 'secret.txt'), 'secret\n');
    await symlink('../secret.txt', at('link'));
    await plain('add', 'link');
    expect(await git.run('git:diff', { staged: true })).not.toContain('+secret');
  });

  it('uses no repository outside its folder, through a link, a file or a common folder', async () => {
    const elsewhere = join(world.path, 'elsewhere');
    await rename(at('.git'), elsewhere);
    const isDenied = () =>
      expect(git.run('git:log')).rejects.toThrow(refused('repository_outside'));
    await symlink(elsewhere, at('.git'));
    await isDenied();
    await rm(at('.git'));
    await writeFile(at('.git'), `gitdir: ${elsewhere}\n`);
    await isDenied();
    await rm(at('.git'));
    await mkdir(at('.git'));
    await writeFile(at('.git/HEAD'), 'ref: refs/heads/main\n');
    await writeFile(at('.git/commondir'), `${elsewhere}\n`);
    await isDenied();
    await rm(at('.git'), { recursive: true });
    await rename(elsewhere, at('inner'));
    await writeFile(at('.git'), 'gitdir: inner\n');
    expect(await git.run('git:log')).toContain('first');
  });

  it('shows only so much of a long answer, and says so', async () => {
    await using short = await openPlugin('git', {
      folder: repository,
      config: { max_bytes: 2_000 },
    });
    await writeFile(at('a.txt'), 'long line\n'.repeat(10_000));
    const shown = String(await short.run('git:diff'));
    expect(shown.length).toBeLessThan(2_100);
    expect(shown).toMatch(/cut here: there is more/);
  });

  describe('in a repository that was set up to run programs', () => {
    const TOOLS: readonly (readonly [string, object])[] = [
      ['git:status', {}],
      ['git:diff', {}],
      ['git:diff', { staged: true }],
      ['git:diff', { revision: 'HEAD' }],
      ['git:log', {}],
      ['git:show', {}],
      ['git:branches', {}],
      ['git:commit', { message: 'x' }],
    ];
    let traces: string;

    /** A program that leaves a file behind when it runs. */
    const program = async (name: string) => {
      const path = join(world.path, name);
      await writeFile(path, `#!/bin/sh\ntouch "${traces}/${name}"\ncat 2>/dev/null\n`);
      await chmod(path, 0o755);
      return path;
    };

    const configure = async (settings: Record<string, string>) => {
      const lines = Object.entries(settings).map(([name, value]) => {
        const [, section, driver, key] = /^([^.]+)\.(?:(.+)\.)?([^.]+)$/.exec(name) ?? [];
        return `[${section}${driver ? ` "${driver}"` : ''}]\n\t${key} = ${value}\n`;
      });
      await appendFile(at('.git/config'), lines.join(''));
    };

    beforeEach(async () => {
      traces = join(world.path, 'traces');
      await mkdir(traces);
      await writeFile(at('.gitattributes'), '*.txt diff=evil filter=evil merge=evil\n');
      await plain('add', '.');
      await plain('commit', '--quiet', '--message=attributes');
      await writeFile(at('a.txt'), 'two\n');
      const settings: Record<string, string> = {
        'core.fsmonitor': await program('fsmonitor'),
        'core.pager': await program('pager'),
        'core.editor': await program('editor'),
        'core.sshCommand': await program('ssh'),
        'core.askPass': await program('askpass'),
        'pager.log': await program('pager-log'),
        'diff.external': await program('external'),
        'diff.evil.command': await program('diff-command'),
        'diff.evil.textconv': await program('textconv'),
        'filter.evil.clean': await program('clean'),
        'filter.evil.smudge': await program('smudge'),
        'filter.evil.process': await program('process'),
        'filter.evil.required': 'true',
        'merge.evil.driver': await program('merge'),
        'gpg.program': await program('gpg'),
        'log.showSignature': 'true',
        'commit.gpgSign': 'true',
        'credential.helper': await program('credential'),
        'alias.status': `!${await program('alias')}`,
      };
      await configure(settings);
      for (const hook of ['pre-commit', 'commit-msg', 'post-commit', 'post-index-change']) {
        await writeFile(at(`.git/hooks/${hook}`), `#!/bin/sh\ntouch "${traces}/${hook}"\n`);
        await chmod(at(`.git/hooks/${hook}`), 0o755);
      }
    });

    it('would run them if it were careless', async () => {
      const env = childEnvironment({ extra: { GIT_CONFIG_GLOBAL: '/dev/null' } });
      await runProgram({ command: 'git', args: ['-C', repository, 'diff'], env });
      expect(await readdir(traces)).not.toEqual([]);
    });

    it('runs none of them', async () => {
      for (const [tool, args] of TOOLS) await git.run(tool, args).catch(() => {});
      expect(await readdir(traces)).toEqual([]);
    });

    it('shows the changes nevertheless', async () => {
      expect(await git.run('git:diff')).toContain('-one\n+two');
      expect(await git.run('git:status')).toContain(' M a.txt');
    });

    it('commits nothing that a program of the repository should have changed', async () => {
      await expect(git.run('git:commit', { message: 'x' })).rejects.toThrow(refused('filters'));
    });

    it('commits without hooks and signature', async () => {
      await plain('config', '--remove-section', 'filter.evil');
      await git.run('git:commit', { message: 'quiet' });
      expect(await readdir(traces)).toEqual([]);
    });

    it('takes drivers for what they are, however they are named', async () => {
      const evil = await program('odd');
      const section = `[filter "a=b.c\\"d"]\n\tclean = ${evil}\n\tsmudge = ${evil}\n`;
      await appendFile(at('.git/config'), section);
      await writeFile(at('.gitattributes'), '*.txt "filter=a=b.c\\"d"\n* filter=a=b.c"d\n');
      await git.run('git:diff');
      expect(await readdir(traces)).toEqual([]);
    });

    it('listens to no variable of ours', async () => {
      process.env.GIT_EXTERNAL_DIFF = await program('variable');
      try {
        await git.run('git:diff');
      } finally {
        delete process.env.GIT_EXTERNAL_DIFF;
      }
      expect(await readdir(traces)).toEqual([]);
    });
  });
});
