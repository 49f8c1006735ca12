import { readdirSync } from 'node:fs';
import { FabricError } from '@starloom/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { childEnvironment } from '../src/environment.ts';
import { type ManagedProcess, type ProcessOptions, spawnProcess } from '../src/process.ts';
import { hostile, shell } from './fixtures/hostile.ts';
import { isRunning, membersOf } from './fixtures/running.ts';

const MEBIBYTE = 1_048_576;

describe('talking to a process', () => {
  it('writes its stdin and reads its stdout as lines', async () => {
    const child = await start({ command: 'cat' });
    const lines = child.lines();
    await child.write('first\nsecond\n');
    expect((await lines.next()).value).toBe('first');
    expect((await lines.next()).value).toBe('second');
    child.stdin.end();
    expect(await lines.next()).toEqual({ done: true, value: undefined });
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  it('passes arguments as they are, without a shell', async () => {
    const child = await start({ command: 'printf', args: ['%s\n', '$HOME; `id` "*"'] });
    expect(await collect(child)).toEqual(['$HOME; `id` "*"']);
  });

  it('shows the child only the environment it was given', async () => {
    process.env.API_KEY = 'secret';
    onTestFinished(() => {
      delete process.env.API_KEY;
    });
    const inherits = await start({ command: 'env' });
    expect((await collect(inherits)).join('\n')).not.toContain('secret');
    const given = await start({
      command: 'env',
      env: childEnvironment({ extra: { GIVEN: 'yes' } }),
    });
    expect(await collect(given)).toContain('GIVEN=yes');
  });

  it('keeps output for a reader who comes after the exit', async () => {
    const child = await start(shell('yes line | head -n 20000'));
    await child.exited;
    expect(await collect(child)).toHaveLength(20_000);
  });

  it('gives raw bytes to those who do not want lines', async () => {
    const child = await start(shell('printf "\\001\\377"'));
    const chunks = await child.stdout.toArray();
    expect([...Buffer.concat(chunks)]).toEqual([1, 255]);
  });

  it('has one reader of lines', async () => {
    const child = await start(hostile.hangs);
    const first = child.lines().next();
    const failure = await failureOf(child.lines().next());
    expect(failure.code).toBe('INTERNAL');
    await child.stop();
    expect(await first).toMatchObject({ done: true });
  });

  it('holds back a writer while its output is not read', async () => {
    const child = await start(hostile.hangs);
    let settled = false;
    const writing = failureOf(child.write('x'.repeat(8 * MEBIBYTE))).finally(() => {
      settled = true;
    });
    await expect.poll(() => child.stdin.writableLength).toBeGreaterThan(0);
    expect(settled).toBe(false);
    await child.stop();
    expect(await writing).toMatchObject({ code: 'AGENT_OFFLINE' });
  });

  it('reports a closed stdin to the writer', async () => {
    const child = await start(hostile.closesStdin);
    await child.lines().next();
    const failure = await failureOf(child.write('anybody there?\n'));
    expect(failure.code).toBe('AGENT_OFFLINE');
    expect(failure.details).toMatchObject({ reason: 'stdin_closed', command: '/bin/sh' });
  });

  it('gives stderr by line and keeps its tail', async () => {
    const heard: string[] = [];
    const child = await start({
      ...shell('echo one >&2; echo two >&2; printf three >&2'),
      onStderrLine: (line) => heard.push(line),
    });
    await child.exited;
    await child.stop();
    expect(heard).toEqual(['one', 'two', 'three']);
    expect(child.stderrTail()).toBe('one\ntwo\nthree');
  });
});

describe('a program that cannot be started', () => {
  it.each([
    ['is missing', { command: 'no-such-program-here' }, 'not_found'],
    ['may not be executed', { command: '/etc/passwd' }, 'not_executable'],
    ['has a missing folder', { command: 'true', cwd: '/no/such/folder' }, 'bad_cwd'],
    ['has a file as folder', { command: 'true', cwd: '/etc/passwd' }, 'bad_cwd'],
    ['has impossible arguments', { command: 'true', args: ['a\0b'] }, 'spawn_failed'],
  ])('is offline when it %s', async (_, options, reason) => {
    const failure = await failureOf(spawnProcess(options));
    expect(failure.code).toBe('AGENT_OFFLINE');
    expect(failure.details).toMatchObject({ command: options.command, reason });
  });
});

describe('ending a process', () => {
  it('stops a process that hangs', async () => {
    const child = await start(hostile.hangs);
    expect(await child.stop()).toEqual({ code: null, signal: 'SIGTERM' });
    expect(membersOf(child.pid)).toEqual([]);
  });

  it('kills a process that ignores SIGTERM, after the grace', async () => {
    const child = await start({ ...hostile.ignoresTerm, graceMs: 200 });
    await child.lines().next();
    expect(await child.stop()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(membersOf(child.pid)).toEqual([]);
  });

  it('lets a process end in its own way within the grace', async () => {
    const child = await start(
      shell('trap "exit 7" TERM; echo ready; while :; do sleep 0.05; done'),
    );
    await child.lines().next();
    expect(await child.stop()).toEqual({ code: 7, signal: null });
  });

  it('ends a process that waits for the end of its input', async () => {
    const child = await start(shell('trap "" TERM; echo ready; cat; exit 4'));
    await child.lines().next();
    expect(await child.stop()).toEqual({ code: 4, signal: null });
  });

  it('passes a signal to the whole group, until that is empty', async () => {
    const child = await start(shell('sleep 1000 & echo ready; wait'));
    await child.lines().next();
    expect(membersOf(child.pid)).toHaveLength(2);
    expect(child.signal('SIGKILL')).toBe(true);
    expect(await child.stop()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(child.signal('SIGKILL')).toBe(false);
  });

  it('answers every caller of stop alike, at once or later', async () => {
    const child = await start({ ...hostile.ignoresTerm, graceMs: 100 });
    await child.lines().next();
    const exits = await Promise.all([child.stop(), child.stop(), child.exited]);
    expect(new Set([...exits, await child.stop()].map((exit) => exit.signal))).toEqual(
      new Set(['SIGKILL']),
    );
  });

  it('reports how a process died that was not stopped', async () => {
    const child = await start(hostile.diesAtOnce);
    expect(await child.exited).toEqual({ code: 3, signal: null });
    expect(await child.stop()).toEqual({ code: 3, signal: null });
    expect(child.stderrTail()).toBe('last words\n');
    expect(await failureOf(child.write('too late'))).toMatchObject({ code: 'AGENT_OFFLINE' });
  });

  it('ends the grandchildren of a process that exits by itself', async () => {
    const child = await start(hostile.leavesGrandchild);
    const lines = await collect(child);
    expect(lines).toHaveLength(1);
    await child.stop();
    expect(isRunning(Number(lines[0]))).toBe(false);
    expect(membersOf(child.pid)).toEqual([]);
  });

  it('kills a grandchild that ignores SIGTERM when its parent obeyed', async () => {
    const child = await start({ ...hostile.leavesStubbornGrandchild, graceMs: 200 });
    await child.lines().next();
    expect(await child.stop()).toMatchObject({ signal: 'SIGTERM' });
    expect(membersOf(child.pid)).toEqual([]);
  });

  it.each([
    ['exits', (child: ManagedProcess) => child.stdin.end()],
    ['is stopped', (child: ManagedProcess) => child.stop()],
  ])('finds the daemon a process left in another session when it %s', async (_, end) => {
    const child = await start(hostile.doubleFork);
    const daemon = Number((await child.lines().next()).value);
    expect(isRunning(daemon)).toBe(true);
    expect(membersOf(child.pid)).not.toContain(daemon);
    await end(child);
    await child.exited;
    await child.stop();
    expect(isRunning(daemon)).toBe(false);
  });

  it('waits neither for zombies nor for one that is out of reach', async () => {
    const child = await start(hostile.leavesZombie);
    const outOfReach = Number((await child.lines().next()).value);
    onTestFinished(() => {
      process.kill(outOfReach, 'SIGKILL');
    });
    await child.stop();
    expect(membersOf(child.pid)).toEqual([]);
    expect(isRunning(outOfReach)).toBe(true);
  });

  it('is stopped by leaving the scope', async () => {
    let pid = 0;
    {
      await using child = await spawnProcess(hostile.hangs);
      pid = child.pid;
      expect(isRunning(pid)).toBe(true);
    }
    expect(isRunning(pid)).toBe(false);
  });

  it('leaves no listener, pipe or process behind after fifty lives', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on('warning', listen);
    onTestFinished(() => {
      process.off('warning', listen);
    });
    await (await spawnProcess(hostile.hangs)).stop();
    const before = { descriptors: openDescriptors(), listeners: process.listenerCount('exit') };
    for (let round = 0; round < 10; round += 1) {
      const children = await Promise.all(
        Array.from({ length: 5 }, () => spawnProcess(hostile.hangs)),
      );
      await Promise.all(children.map((child) => child.stop()));
      expect(children.flatMap((child) => membersOf(child.pid))).toEqual([]);
    }
    expect(warnings).toEqual([]);
    expect(process.listenerCount('exit')).toBe(before.listeners);
    await expect.poll(openDescriptors).toBeLessThanOrEqual(before.descriptors + 5);
  });
});

describe('a process without measure', () => {
  it('waits while its output is not read, and costs no memory', async () => {
    const before = process.memoryUsage().rss;
    const child = await start(hostile.floodsStdout);
    await expect.poll(() => child.stdout.readableLength).toBeGreaterThan(0);
    await expect.poll(() => membersOf(child.pid).length).toBe(3);
    expect(process.memoryUsage().rss - before).toBeLessThan(40 * MEBIBYTE);
    expect(child.stdout.readableLength).toBeLessThan(MEBIBYTE);
    await child.stop();
    expect(membersOf(child.pid)).toEqual([]);
  });

  it('hands a hundred megabytes through without keeping them', async () => {
    const child = await start(hostile.floodsStdout);
    const before = process.memoryUsage().rss;
    let bytes = 0;
    for await (const line of child.lines()) bytes += line.length + 1;
    expect(bytes).toBeGreaterThanOrEqual(100 * MEBIBYTE);
    expect(process.memoryUsage().rss - before).toBeLessThan(80 * MEBIBYTE);
  });

  it('is killed when it writes more than it may', async () => {
    const child = await start({ ...hostile.floodsStdout, limits: { maxOutputBytes: MEBIBYTE } });
    const failure = await failureOf(collect(child));
    expect(failure.code).toBe('UPSTREAM_ERROR');
    expect(failure.details).toMatchObject({ reason: 'output_too_large', command: '/bin/sh' });
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });
    await child.stop();
    expect(membersOf(child.pid)).toEqual([]);
  });

  it('may write exactly as much as it may', async () => {
    const child = await start({ ...shell('printf 12345678'), limits: { maxOutputBytes: 8 } });
    expect(await collect(child)).toEqual(['12345678']);
  });

  it('floods stderr without blocking itself or filling our memory', async () => {
    const before = process.memoryUsage().rss;
    const child = await start({ ...hostile.floodsStderr, limits: { stderrTailBytes: 1000 } });
    expect(await collect(child)).toEqual(['done']);
    await child.stop();
    expect(child.stderrTail()).toBe('x'.repeat(1000));
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * MEBIBYTE);
  });

  it('fails its reader on a line without end', async () => {
    const child = await start({ ...hostile.endlessLine, limits: { maxLineBytes: 100_000 } });
    const failure = await failureOf(collect(child));
    expect(failure.code).toBe('UPSTREAM_ERROR');
    expect(failure.details).toMatchObject({ reason: 'line_too_long' });
    await child.stop();
    expect(membersOf(child.pid)).toEqual([]);
  });

  it('fails its reader on bytes that are not UTF-8', async () => {
    const child = await start(hostile.invalidUtf8);
    const lines = child.lines();
    expect((await lines.next()).value).toBe('fine');
    const failure = await failureOf(lines.next());
    expect(failure.code).toBe('UPSTREAM_ERROR');
    expect(failure.details).toMatchObject({ reason: 'invalid_utf8' });
  });
});

/** Whatever a test does, its process and the group of it are gone afterwards. */
async function start(options: ProcessOptions): Promise<ManagedProcess> {
  const child = await spawnProcess(options);
  onTestFinished(async () => {
    await child.stop();
    expect(membersOf(child.pid)).toEqual([]);
  });
  return child;
}

async function collect(child: ManagedProcess): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of child.lines()) lines.push(line);
  return lines;
}

async function failureOf(promise: Promise<unknown>): Promise<FabricError> {
  const failure = await promise.then(
    () => new Error('did not fail'),
    (error: unknown) => error,
  );
  if (!FabricError.is(failure)) throw failure;
  return failure;
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
