import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { LineSink } from '../../src/observe/log.ts';

const CHILD = join(import.meta.dirname, 'support/write-and-exit.ts');

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'line-sink-'));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const flushed = (sink: LineSink) => new Promise<void>((resolve) => sink.flush(resolve));

/** Starts the child and waits until it is about to write. */
async function startChild(lines: number) {
  const child = spawn(process.execPath, ['--conditions=@starloom/source', CHILD, `${lines}`], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  await once(child.stdout, 'data');
  return child;
}

async function exitCode(child: ChildProcess): Promise<number | null> {
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  const [code] = await once(child, 'exit');
  clearTimeout(timer);
  return code as number | null;
}

describe('line sink', () => {
  it('writes every line in order, and flush waits for all of them', async () => {
    await inFolder(async (folder) => {
      const path = join(folder, 'log');
      const fd = openSync(path, 'a');
      const sink = new LineSink(fd);
      const lines = Array.from({ length: 5000 }, (_, index) => `line ${index} ${'é'.repeat(20)}\n`);
      const early = flushed(sink);
      for (const line of lines) sink.write(line);
      await Promise.all([early, flushed(sink)]);
      expect(readFileSync(path, 'utf8')).toBe(lines.join(''));
      sink.write('one more\n');
      await flushed(sink);
      expect(readFileSync(path, 'utf8')).toMatch(/one more\n$/);
      closeSync(fd);
    });
  });

  it('writes a lone line without being asked to flush', async () => {
    await inFolder(async (folder) => {
      const path = join(folder, 'log');
      const fd = openSync(path, 'a');
      new LineSink(fd).write('alone\n');
      await expect.poll(() => readFileSync(path, 'utf8'), { timeout: 10_000 }).toBe('alone\n');
      closeSync(fd);
    });
  });

  it('loses lines on a full disk without a word of complaint, and reports them when it is over', async () => {
    await inFolder(async (folder) => {
      const fd = openSync('/dev/full', 'w');
      const lost: number[] = [];
      const sink = new LineSink(fd, (lines) => lost.push(lines));
      for (let line = 0; line < 3; line += 1) {
        sink.write('nobody reads this\n');
        await flushed(sink);
      }
      expect(lost).toEqual([]);
      const path = join(folder, 'log');
      replace(fd, path);
      sink.write('back\n');
      await flushed(sink);
      await expect.poll(() => lost, { timeout: 10_000 }).toEqual([3]);
      expect(readFileSync(path, 'utf8')).toBe('back\n');
      closeSync(fd);
    });
  });

  it('keeps a bounded amount for a reader that is slow, and loses the rest', async () => {
    await inFolder(async (folder) => {
      const path = join(folder, 'pipe');
      execFileSync('mkfifo', [path]);
      const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
      let lost = 0;
      const sink = new LineSink(fd, (lines) => {
        lost += lines;
      });
      const line = `${'.'.repeat(1023)}\n`;
      for (let count = 0; count < 20_000; count += 1) sink.write(line);
      let read = 0;
      const drain = () => {
        read += readAll(reader);
        return read / line.length + lost;
      };
      await expect.poll(drain, { timeout: 15_000, interval: 1 }).toBe(20_000);
      expect(lost).toBeGreaterThan(5000);
      closeSync(fd);
      closeSync(reader);
    });
  });

  it('writes what is left when the process ends', async () => {
    const child = await startChild(500);
    const written = text(child.stderr);
    child.stdin.end('go\n');
    expect(await exitCode(child)).toBe(7);
    const lines = (await written).trimEnd().split('\n');
    expect(lines).toHaveLength(500);
    expect(lines[499]).toMatch(/^500 /);
  });

  it('lets the process end when nobody reads its lines, or nobody is there any more', async () => {
    const unread = await startChild(20_000);
    unread.stdin.end('go\n');
    expect(await exitCode(unread)).toBe(7);
    unread.stderr.destroy();
    const alone = await startChild(20_000);
    alone.stderr.destroy();
    alone.stdin.end('go\n');
    expect(await exitCode(alone)).toBe(7);
  });
});

/** Makes `fd` stand for another file: closed, its number is given out again. */
function replace(fd: number, path: string): void {
  closeSync(fd);
  const spare: number[] = [];
  let opened = openSync(path, 'a');
  while (opened !== fd) {
    spare.push(opened);
    opened = openSync(path, 'a');
  }
  for (const other of spare) closeSync(other);
}

/** Reads what is there; returns how much it was. */
function readAll(fd: number): number {
  const buffer = Buffer.alloc(1024 ** 2);
  let total = 0;
  try {
    for (let read = readSync(fd, buffer); read > 0; read = readSync(fd, buffer)) total += read;
  } catch {
    // EAGAIN: nothing more for now.
  }
  return total;
}
