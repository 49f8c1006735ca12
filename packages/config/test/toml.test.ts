import fc from 'fast-check';
import { stringify } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isContainer, toKey } from '../src/key-path.ts';
import { parseToml } from '../src/parse-toml.ts';
import { load, problemsIn } from './scratch.ts';

const schema = z.strictObject({
  mcp: z.strictObject({
    servers: z.array(
      z.strictObject({
        name: z.string(),
        command: z.array(z.string()),
        env: z.record(z.string(), z.string()).default({}),
        allowed_tools: z.array(z.string()).optional(),
      }),
    ),
  }),
  acp: z.strictObject({ name: z.string(), version: z.string() }).optional(),
});

const GOOD = `
# servers
[[mcp.servers]]
name = "filesystem"
command = ["mcp-server-filesystem", "/workspace"]

[[mcp.servers]]
name = 'database'
command = [
  "mcp-server-postgres", # the server
]
env = { DATABASE_URL = "postgres://host" }
allowed_tools = ["query", "list_tables"]

[acp]
name = "headless-agent"
version = "0.4.0"
`;

describe('TOML', () => {
  it('gives values and the line of each', async () => {
    const { value, origins } = await load('agent.toml', GOOD, { schema });
    expect(value.mcp.servers.map(({ name }) => name)).toEqual(['filesystem', 'database']);
    const line = (key: string) => {
      const origin = origins.get(key);
      return origin?.kind === 'file' ? [origin.line, origin.column] : origin?.kind;
    };
    expect(line('mcp.servers[0].name')).toEqual([4, 8]);
    expect(line('mcp.servers[0].command[1]')).toEqual([5, 37]);
    expect(line('mcp.servers[1].command[0]')).toEqual([10, 3]);
    expect(line('mcp.servers[1].env.DATABASE_URL')).toEqual([12, 24]);
    expect(line('acp.version')).toEqual([17, 11]);
    expect(line('mcp.servers[0].env')).toBe('default');
  });

  const MISTAKES = [
    {
      name: 'a misspelt key in a table',
      text: GOOD.replace('version =', 'vresion ='),
      key: 'acp.vresion',
      line: 17,
      fix: /"version"/,
    },
    {
      name: 'a misspelt key in an array of tables',
      text: GOOD.replace('allowed_tools', 'allowed_tool'),
      key: 'mcp.servers[1].allowed_tool',
      line: 13,
      fix: /"allowed_tools"/,
    },
    {
      name: 'a number in a list of strings',
      text: GOOD.replace('"query"', '7'),
      key: 'mcp.servers[1].allowed_tools[0]',
      line: 13,
      fix: /quotes/,
    },
    {
      name: 'a text instead of a list',
      text: GOOD.replace('["mcp-server-filesystem", "/workspace"]', '"x"'),
      key: 'mcp.servers[0].command',
      line: 5,
      fix: /list/,
    },
    {
      name: 'a missing key',
      text: GOOD.replace("name = 'database'", ''),
      key: 'mcp.servers[1].name',
      line: 7,
      fix: /add "name"/,
    },
    {
      name: 'an unknown table',
      text: `${GOOD}\n[ac]\n`,
      key: 'ac',
      line: 19,
      fix: /remove|rename/,
    },
    {
      name: 'a date',
      text: GOOD.replace('"0.4.0"', '2026-01-01'),
      key: 'acp.version',
      line: 17,
      fix: /string/,
    },
    {
      name: 'a forbidden key',
      text: `${GOOD}\n[acp.__proto__]\nx = 1\n`,
      key: 'acp.__proto__',
      line: 19,
      fix: /rename/,
    },
    { name: 'a key twice', text: `${GOOD}version = "1"\n`, key: '', line: 18, fix: /"="/ },
    { name: 'bad syntax', text: 'name = \n', key: '', line: 1, fix: /"="/ },
    { name: 'an open string', text: 'a = 1\nname = "x\n', key: '', line: 2, fix: /quotes/ },
  ];
  it.each(MISTAKES)(
    'refuses $name, with its key, line and fix',
    async ({ text, key, line, fix }) => {
      const [problem] = await problemsIn('agent.toml', text, { schema });
      expect(problem).toMatchObject({ key, line });
      expect(problem?.fix).toMatch(fix);
    },
  );

  it('never quotes the file in a syntax problem', () => {
    const { problems } = parseToml('key = "hunter2\n', 'agent.toml');
    expect(problems).toHaveLength(1);
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });

  it('knows the place of every entry of any document', () => {
    const word = fc.stringMatching(/^[a-z "'.\\é]{1,6}$/);
    const { table } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.array(fc.string(), { maxLength: 3 }),
        fc.array(tie('table'), { minLength: 1, maxLength: 3 }),
        tie('table'),
      ),
      table: fc.dictionary(word, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    }));
    fc.assert(
      fc.property(table, (document) => {
        const positions = parseToml(stringify(document), 'a.toml').positions;
        for (const key of keysIn(document)) expect([...positions.keys()]).toContain(key);
      }),
      { numRuns: 200 },
    );
  });

  it('knows places behind multi-line strings, dotted keys and comments', () => {
    const text = `a = """x = 1
[no]
"quoted" """ # b = 2
"c.d".e = 'f # g' # h
[i]
j = { k = [ { l = 1 }, { l = 2 } ], m.n = 3 }
[[o.p]]
[o.p.q]
r = 1
[[o.p]]
s = '''
t = 1'''
u = 2`;
    const lines = [...parseToml(text, 'a.toml').positions].map(
      ([
        key,
        {
          key: { line },
        },
      ]) => `${key} ${line}`,
    );
    expect(parseToml(text, 'c.toml').problems).toEqual([]);
    expect(lines).toEqual([
      'a 1',
      '["c.d"] 4',
      '["c.d"].e 4',
      'i 5',
      'i.j 6',
      'i.j.k 6',
      'i.j.k[0] 6',
      'i.j.k[0].l 6',
      'i.j.k[1] 6',
      'i.j.k[1].l 6',
      'i.j.m 6',
      'i.j.m.n 6',
      'o 7',
      'o.p 7',
      'o.p[0] 7',
      'o.p[0].q 8',
      'o.p[0].q.r 9',
      'o.p[1] 10',
      'o.p[1].s 11',
      'o.p[1].u 13',
    ]);
  });
});

function* keysIn(value: unknown, path: (string | number)[] = []): Generator<string> {
  if (path.length > 0) yield toKey(path);
  if (!isContainer(value)) return;
  for (const [key, child] of Object.entries(value)) {
    yield* keysIn(child, [...path, Array.isArray(value) ? Number(key) : key]);
  }
}
