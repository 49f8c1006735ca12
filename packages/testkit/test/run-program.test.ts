import { describe, expect, it } from 'vitest';
import { runProgram } from '../src/index.ts';

describe('runProgram', () => {
  it('gives the exit code and both outputs', async () => {
    const args = ['-c', 'echo out; echo more; echo err >&2; exit 3'];
    expect(await runProgram({ command: 'sh', args })).toEqual({
      code: 3,
      stdout: 'out\nmore',
      stderr: 'err\n',
    });
  });

  it('shows the program an empty input', async () => {
    expect(await runProgram({ command: 'cat' })).toMatchObject({ code: 0, stdout: '' });
  });

  it('stops a program that takes too long', async () => {
    const run = await runProgram({ command: 'sleep', args: ['1000'] }, 100);
    expect(run.code).toBeNull();
  });
});
