import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventBody } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCoder, MAX_SOURCE_BYTES, reportSchema, reportSource } from '../src/coder.ts';
import { textOf } from './fixtures/open-agent.ts';

const SOURCE = 'export function answer() {\n  return 42;\n}\n';

const TYPESCRIPT = `// Says what this is
import { z } from 'zod';
import type { A } from './a.ts';

export function first({ a, b }: { a: string; b: number }): { c: string } {
  if (a === 'x' && b > 0) return { c: a };
  return { c: 'y' };
}

export class Thing {
  async *second(one: string): AsyncGenerator<string> {
    if (one) yield one;
  }
}

const third = async (value: number) => {
  return value;
};
`;

const PYTHON = `import os

def outer(
    a,
    b,
):
    def inner(x):
        return 1
    # FIXME: later
    return inner

class C:
    async def method(self):
        return 1

`;

async function read(folder: string, path: string): Promise<string> {
  return textOf(await Array.fromAsync(createCoder(folder).work({ path })));
}

/** A folder `inside` to read from, and a secret beside it. */
async function world() {
  const folder = await temporaryFolder();
  const inside = join(folder.path, 'inside');
  const secret = join(folder.path, 'secret.ts');
  await mkdir(join(inside, 'src'), { recursive: true });
  await writeFile(secret, 'secret');
  await writeFile(join(inside, 'src/answer.ts'), SOURCE);
  return { inside, secret, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

describe('reading a source', () => {
  it('reads files of its folder, by relative or absolute path', async () => {
    await using place = await world();
    expect(await read(place.inside, 'src/answer.ts')).toContain('3 lines of TypeScript');
    const absolute = join(place.inside, 'src/answer.ts');
    expect(await read(place.inside, absolute)).toContain('3 lines of TypeScript');
  });

  it.each(['../secret.ts', 'src/../../secret.ts', '/etc/passwd', '..'])(
    'refuses %j, which leaves the folder',
    async (path) => {
      await using place = await world();
      await expect(read(place.inside, path)).rejects.toMatchObject({ code: 'POLICY_DENIED' });
    },
  );

  it('refuses a link that leads out of its folder', async () => {
    await using place = await world();
    await symlink(place.secret, join(place.inside, 'link.ts'));
    await expect(read(place.inside, 'link.ts')).rejects.toMatchObject({ code: 'POLICY_DENIED' });
  });

  it('refuses what is not there, no file, too large or no text', async () => {
    await using place = await world();
    const { inside } = place;
    await writeFile(join(inside, 'large.ts'), 'x'.repeat(MAX_SOURCE_BYTES + 1));
    await writeFile(join(inside, 'bytes.ts'), Buffer.from([0xff, 0xfe, 0x00]));
    for (const path of ['missing.ts', 'src', 'large.ts', 'bytes.ts']) {
      await expect(read(inside, path)).rejects.toMatchObject({ code: 'BAD_INPUT' });
    }
  });
});

describe('the report on a source', () => {
  const found = (source: string, path: string) =>
    reportSource(source, path).functions.list.map(({ name, line, lines }) => [name, line, lines]);

  it('finds functions and methods of TypeScript, and how long they are', () => {
    expect(found(TYPESCRIPT, 'a.ts')).toEqual([
      ['first', 5, 4],
      ['second', 11, 3],
      ['third', 16, 3],
    ]);
  });

  it('finds functions of Python by their indentation', () => {
    expect(found(PYTHON, 'a.py')).toEqual([
      ['outer', 3, 8],
      ['inner', 7, 2],
      ['method', 13, 2],
    ]);
  });

  it('counts lines, and lists imports and what is left to do', () => {
    const report = reportSource(PYTHON, 'a.py');
    expect(report).toMatchObject({
      lines: { total: 15, code: 11, comment: 1, blank: 3 },
      imports: ['import os'],
      longest: { name: 'outer', lines: 8 },
      todos: [{ line: 9, text: 'FIXME: later' }],
    });
    expect(reportSchema.parse(report)).toEqual(report);
  });

  it('adds up for any source, and keeps to the schema', () => {
    const source = fc.array(fc.constantFrom('{', '}', '(', '\n', '//', '#', '  ', 'def f():', 'x'));
    fc.assert(
      fc.property(source, fc.constantFrom('a.ts', 'a.py', 'a.txt'), (pieces, path) => {
        const report = reportSchema.parse(reportSource(pieces.join(''), path));
        const { total, code, comment, blank } = report.lines;
        expect(code + comment + blank).toBe(total);
        for (const { line, lines } of report.functions.list) {
          expect(line + lines - 1).toBeLessThanOrEqual(total);
        }
      }),
    );
  });
});

describe('the coder', () => {
  const toolCalls = (events: readonly EventBody[]) =>
    events.flatMap((event) => (event.type === 'tool_call' ? event.data : []));

  it('reads the file with a tool call, and says what it found', async () => {
    await using place = await world();
    const coder = createCoder(place.inside);
    const events = await Array.fromAsync(coder.work({ path: 'src/answer.ts' }));
    expect(toolCalls(events)).toEqual([
      { id: 'read-1', name: 'read_file', args: { path: 'src/answer.ts' }, phase: 'start' },
      {
        id: 'read-1',
        name: 'read_file',
        args: { path: 'src/answer.ts' },
        phase: 'end',
        result: { bytes: SOURCE.length },
      },
    ]);
    const answer = textOf(events);
    expect(answer).toContain('src/answer.ts: 3 lines of TypeScript');
    expect(events.at(-1)).toMatchObject({
      type: 'final',
      data: { answer, data: { longest: { name: 'answer', line: 1, lines: 3 } } },
    });
  });

  it('reports on source text without reading anything', async () => {
    const coder = createCoder('/nowhere');
    const events = await Array.fromAsync(coder.work({ source: SOURCE }));
    expect(toolCalls(events)).toEqual([]);
    expect(textOf(events)).toContain('The source: 3 lines of source');
  });

  it.each(['src/answer.ts', 'Please report on src/answer.ts', 'What is in `src/answer.ts`?'])(
    'understands the task %j as the file',
    async (task) => {
      await using place = await world();
      const events = await Array.fromAsync(createCoder(place.inside).work({ task }));
      expect(toolCalls(events)).toHaveLength(2);
    },
  );

  it('takes a task of several lines for source text', async () => {
    const events = await Array.fromAsync(createCoder('/nowhere').work({ task: SOURCE }));
    expect(textOf(events)).toContain('The source: 3 lines');
  });

  it('refuses to report on nothing', async () => {
    const working = Array.fromAsync(createCoder('/nowhere').work({}));
    await expect(working).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'no_source' },
    });
  });
});
