import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  describeReport,
  guessLanguage,
  LANGUAGES,
  maskSource,
  reportSchema,
  reportSource,
} from '../src/coder-report.ts';

const TYPESCRIPT = `// TODO: say what this is
import { z } from 'zod';
import type { A } from './a.ts';

export function first({ a, b }: { a: string; b: number }): { c: string } {
  const text = 'function inString() { // TODO not this one';
  if (a === text && b > 0) return { c: a };
  return { c: \`\${b} {\` };
}

export class Thing {
  async *second(
    one: string,
    two?: number,
  ): AsyncGenerator<string> {
    for (const item of [one, two]) {
      if (item) yield String(item);
    }
  }

  get third() {
    return items.map((item) => { return item; });
  }
}

const fourth = async (value: number) => {
  describe('a call is no function', () => {});
};
`;

const PYTHON = `import os
from sys import argv

def outer(
    a,
    b,
):
    """A docstring
    with def inside(): it
    """
    def inner(x):
        if x:
            return 1
    # FIXME: later
    return inner

class C:
    async def method(self):
        return {
            'a': 1,
        }
x = 1
`;

function names(source: string, path: string) {
  return reportSource(source, path).functions.list.map(({ name, line, lines }) => [
    name,
    line,
    lines,
  ]);
}

describe('the report on a source', () => {
  it('finds functions and methods of TypeScript, and how long they are', () => {
    expect(names(TYPESCRIPT, 'a.ts')).toEqual([
      ['first', 5, 5],
      ['second', 12, 8],
      ['third', 21, 3],
      ['fourth', 26, 3],
    ]);
  });

  it('finds functions of Python by their indentation', () => {
    expect(names(PYTHON, 'a.py')).toEqual([
      ['outer', 4, 12],
      ['inner', 11, 3],
      ['method', 18, 4],
    ]);
  });

  it.each([
    ['Go', 'a.go', 'func (s *Server) Serve(ctx context.Context) error {\n\treturn nil\n}', 'Serve'],
    ['Rust', 'a.rs', 'pub fn parse(text: &str) -> Result<Value, Error> {\n}', 'parse'],
    ['Java', 'A.java', 'public static void main(String[] args)\n{\n}', 'main'],
    ['JavaScript', 'a.js', 'module.exports.run = (a) => {\n};', 'run'],
  ])('knows a function of %s when it sees one', (language, path, source, name) => {
    const report = reportSource(source, path);
    expect(report.language).toBe(language);
    expect(report.functions.list.map((each) => each.name)).toEqual([name]);
  });

  it('counts code, comments and blank lines', () => {
    expect(reportSource(TYPESCRIPT, 'a.ts').lines).toEqual({
      total: 28,
      code: 23,
      comment: 1,
      blank: 4,
    });
  });

  it('finds what is left to do in comments, not in strings', () => {
    expect(reportSource(TYPESCRIPT, 'a.ts').todos).toEqual([
      { line: 1, text: 'TODO: say what this is' },
    ]);
    expect(reportSource(PYTHON, 'a.py').todos).toEqual([{ line: 14, text: 'FIXME: later' }]);
  });

  it('names imports and the longest function', () => {
    const report = reportSource(PYTHON, 'a.py');
    expect(report.imports).toEqual(['import os', 'from sys import argv']);
    expect(report.longest).toMatchObject({ name: 'outer', lines: 12, branches: 1 });
  });

  it('hints at functions that are long, deep or full of branches', () => {
    const ifs = Array.from({ length: 12 }, (_, depth) => `${'  '.repeat(depth + 1)}if (a) {`);
    const wide = `  // ${'.'.repeat(120)}`;
    const deep = ['function deep() {', ...ifs, `${'  '.repeat(13)}b();`, wide, '}', ''].join('\n');
    const long = `function long() {\n${'  work();\n'.repeat(80)}}\n`;
    const { hints } = reportSource(deep + long, 'a.js');
    expect(hints).toEqual([
      'deep branches 12 times: name the cases',
      'deep nests 12 blocks deep: return early',
      'long is 82 lines long: split it',
      '1 line longer than 120 columns',
    ]);
    expect(describeReport(reportSource('x = 1', 'a.js'))).toContain('Nothing looks hard to follow');
  });

  it('guesses the language of a text without a name', () => {
    expect(guessLanguage(TYPESCRIPT).name).toBe('TypeScript');
    expect(guessLanguage(PYTHON).name).toBe('Python');
    expect(guessLanguage('const a = 1;').name).toBe('JavaScript');
    expect(guessLanguage('Dear reader,').name).toBe('unknown');
  });
});

describe('any source at all', () => {
  const language = fc.constantFrom(...LANGUAGES);
  const piece = fc.constantFrom(
    ...['{', '}', '(', ')', '"', "'", '`', '\\', '\n', '//', '/*', '*/', '#', ' ', '    ', ';'],
    ...['function f', 'def f():', 'class C', '=>', 'if', 'fn f', 'func f', 'TODO', '=', ':', '"""'],
  );
  const source = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join('')),
  );

  it('is masked character by character, lines in their places', () => {
    fc.assert(
      fc.property(source, language, (text, known) => {
        const masked = maskSource(text, known);
        expect(masked).toHaveLength(text.length);
        expect(masked.split('\n')).toHaveLength(text.split('\n').length);
      }),
    );
  });

  it('gets a report that keeps to the schema and adds up', () => {
    fc.assert(
      fc.property(source, language, (text, { endings: [ending] }) => {
        const report = reportSource(text, `file${ending}`);
        expect(reportSchema.safeParse(report).error).toBeUndefined();
        const { total, code, comment, blank } = report.lines;
        expect(code + comment + blank).toBe(total);
        for (const { line, lines } of report.functions.list) {
          expect(line + lines - 1).toBeLessThanOrEqual(total);
        }
      }),
    );
  });

  it('is reported on in good time, however it nests', () => {
    const hostile = ['function a(){', 'a(', 'x = {} ', 'a = b => ', '// TODO ', 'public a b '];
    for (const text of hostile) {
      const began = performance.now();
      reportSource(text.repeat(Math.floor(524_288 / text.length)), 'a.ts');
      expect(performance.now() - began).toBeLessThan(15_000);
    }
  });
});
