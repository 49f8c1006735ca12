import { describe, expect, it } from 'vitest';
import { createTerminal } from '../src/terminal.ts';
import { paint } from '../src/terminal-text.ts';

/** A process with streams that keep what is written to them. */
function fakeProcess({ isTTY = false, env = {} }: { isTTY?: boolean; env?: object } = {}) {
  const written = { stdout: '', stderr: '' };
  const streamOf = (name: 'stdout' | 'stderr') => ({
    isTTY,
    columns: 40,
    on: () => {},
    write: (text: string) => {
      written[name] += text;
    },
  });
  const process = {
    env,
    cwd: () => '/',
    stdin: { isTTY },
    stdout: streamOf('stdout'),
    stderr: streamOf('stderr'),
  };
  return { written, terminal: createTerminal(process as unknown as NodeJS.Process) };
}

describe('the terminal', () => {
  it('removes what a terminal would act on from everything, and keeps colours of our own', () => {
    const { written, terminal } = fakeProcess({ isTTY: true });
    terminal.print(`\x1b[2J${paint('red', 'a\x1b]0;x\x07')}`);
    terminal.write('\u202eb');
    terminal.tell('\x9b31mc');
    expect(written).toEqual({ stdout: '\x1b[31ma\x1b[39m\nb', stderr: 'c\n' });
  });

  it('replaces a status by whatever comes next, in one line of the width', () => {
    const { written, terminal } = fakeProcess({ isTTY: true });
    terminal.showStatus(`starting\n${'.'.repeat(100)}`);
    terminal.tell('done');
    const clear = '\r\x1b[K';
    expect(written.stderr).toBe(`${clear}starting ${'.'.repeat(29)}…${clear}done\n`);
  });

  it('shows no status, has no width and asks nothing where it is no terminal', async () => {
    const { written, terminal } = fakeProcess();
    terminal.showStatus('starting');
    expect(written.stderr).toBe('');
    expect(terminal).toMatchObject({ columns: undefined, isWatched: false });
    expect(await terminal.ask('sure?')).toBeUndefined();
  });

  it('writes commands in messages as npm users type them', () => {
    const { written, terminal } = fakeProcess({ env: { npm_command: 'run-script' } });
    terminal.tell('  starloom up');
    expect(written.stderr).toBe('  npx starloom up\n');
  });
});
