import type { ITool } from '@starloom/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitWords } from '../../src/core/command-arguments.ts';
import { listSlashCommands, parseSlashCommand } from '../../src/index.ts';
import { echo, openWorld, scripted, textOf, tool } from './world.ts';

function withParameters(name: string, properties: Record<string, unknown>): ITool {
  return tool(name, () => '', { parameters: { type: 'object', properties } });
}

const read = tool('fs:read_file', () => '', {
  command: 'read',
  description: 'Reads a file. Slowly.',
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Which file.' },
      limit: { type: 'integer', default: 100 },
      dry_run: { type: 'boolean' },
      mode: { enum: ['fast', 'slow'] },
      filter: { anyOf: [{ type: 'object' }, { type: 'null' }] },
      tags: { type: 'array', items: { type: 'string' } },
    },
    required: ['path'],
  },
});
const status = withParameters('git:status', {});
const query = withParameters('db:query', { sql: { type: 'string' } });
const otherQuery = withParameters('log:query', { text: { type: 'string' } });
const count = tool('fs:count', () => '', {
  parameters: {
    type: 'object',
    properties: { path: { type: 'string' }, lines: { type: 'integer' } },
    required: ['path', 'lines'],
  },
});
const say = withParameters('chat:say', { to: { type: 'string' }, text: { type: 'string' } });
const server = withParameters('evil:read', { url: { type: 'string' } });

const tools = new Map(
  [read, status, query, otherQuery, server, count, say].map((one) => [one.name, one]),
);
const parse = (text: string) => parseSlashCommand(text, tools);
const argsOf = (text: string) => {
  const command = parse(text);
  return command?.kind === 'call' ? command.call.args : command;
};

describe('slash commands', () => {
  it.each([
    ['/read a.txt', { path: 'a.txt' }],
    ['  /read   a.txt  ', { path: 'a.txt' }],
    ['/read my notes.txt', { path: 'my notes.txt' }],
    ['/read my  notes.txt --limit 5', { path: 'my  notes.txt', limit: 5 }],
    ['/evil:read a', { url: 'a' }],
    ['/db:query select "a b" --all', { sql: 'select "a b" --all' }],
    ['/count a.txt 5', { path: 'a.txt', lines: 5 }],
    ['/say ann hello there', { to: 'ann', text: 'hello there' }],
    ['/say --to ann hello there', { to: 'ann', text: 'hello there' }],
    ['/read --limit 5 a.txt', { path: 'a.txt', limit: 5 }],
    ['/read --limit=5 a.txt', { path: 'a.txt', limit: 5 }],
    ['/read limit=5 a.txt', { path: 'a.txt', limit: 5 }],
    ['/read a.txt --dry-run', { path: 'a.txt', dry_run: true }],
    ['/read a.txt --no-dry-run', { path: 'a.txt', dry_run: false }],
    ['/read a.txt dry_run=no', { path: 'a.txt', dry_run: false }],
    ['/read "my notes.txt"', { path: 'my notes.txt' }],
    ["/read 'it\\'", { path: 'it\\' }],
    ["/read it's", { path: "it's" }],
    ['/read my\\ notes.txt', { path: 'my notes.txt' }],
    ['/read C:\\Users\\me', { path: 'C:\\Users\\me' }],
    ['/read path="a b" --limit 1', { path: 'a b', limit: 1 }],
    ['/read "--limit"', { path: '--limit' }],
    ['/read -- --limit', { path: '--limit' }],
    ['/read "limit=5"', { path: 'limit=5' }],
    ['/read other=5', { path: 'other=5' }],
    ['/read "a\\nb\\t\\"c\\\\"', { path: 'a\nb\t"c\\' }],
    ['/read a.txt --filter \'{"x":[1]}\'', { path: 'a.txt', filter: { x: [1] } }],
    [
      '/read 1 yes fast null t1 t2 --path a.txt',
      { path: 'a.txt', limit: 1, dry_run: true, mode: 'fast', filter: null, tags: ['t1', 't2'] },
    ],
    ['/read a.txt --tags x --tags y', { path: 'a.txt', tags: ['x', 'y'] }],
    ['/read a.txt --tags \'["x","y"]\'', { path: 'a.txt', tags: ['x', 'y'] }],
    ['/read a.txt --limit many', { path: 'a.txt', limit: 'many' }],
  ])('reads %s', (text, args) => {
    expect(argsOf(text)).toEqual(args);
  });

  it.each(['/read x', '/fs:read_file x', '/fs.read_file x', '/read_file x'])(
    'finds a tool by command, full, dotted or short name: %s',
    (text) => {
      expect(parse(text)).toMatchObject({ kind: 'call', call: { name: 'fs:read_file' } });
    },
  );

  it('does not let a tool of a server take the command of another by its short name', () => {
    expect(parse('/read x')).toMatchObject({ call: { name: 'fs:read_file' } });
    expect(parse('/evil:read x')).toMatchObject({ call: { name: 'evil:read' } });
  });

  it.each(['/usr/bin is a folder', 'read a.txt', '/', '/ read', '5/read', '//read'])(
    'is no command, and goes to the model: %s',
    (text) => {
      expect(parse(text)).toBeUndefined();
    },
  );

  it.each([
    ['/query x', 'could be /db:query, /log:query'],
    ['/reed x', 'did you mean /read?'],
    ['/zzzzzz', 'no command /zzzzzz'],
    ['/read "a', 'a quote is not closed'],
    ['/read a --limt 5', 'did you mean --limit?'],
    ['/read a --limit', '--limit needs a value'],
    ['/read path=a path=b', 'given twice'],
    ['/status now', 'one argument too many'],
  ])('%s is a problem: %s', (text, words) => {
    const found = parse(text);
    expect(found?.kind).toBe('problem');
    expect(found).toHaveProperty('text', expect.stringContaining(words));
  });

  it('reads any text back that was quoted, whatever is in it', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (texts) => {
        const words = splitWords(texts.map(quoteWord).join(' '));
        expect(words?.map(({ text }) => text)).toEqual(texts);
      }),
    );
  });

  it('reads any call back that was written as a command', () => {
    const args = fc.record(
      {
        path: fc.string({ unit: 'binary' }),
        limit: fc.integer(),
        dry_run: fc.boolean(),
        tags: fc.array(fc.string()),
        filter: fc.dictionary(fc.string(), fc.jsonValue()),
      },
      { requiredKeys: ['path'] },
    );
    fc.assert(
      fc.property(args, (given) => {
        const plain = JSON.parse(JSON.stringify(given));
        expect(argsOf(toCommand('fs:read_file', plain))).toEqual(plain);
      }),
    );
  });

  it('never throws, whatever is typed', () => {
    const typed = fc.string({ unit: fc.constantFrom(...'/read "\'\\=--limit 5\n\t{}[]') });
    fc.assert(
      fc.property(typed, (text) => {
        parse(`/read ${text}`);
        parse(text);
      }),
    );
  });

  it('/help lists every command with its usage, by the shortest name that means it alone', () => {
    expect(listSlashCommands(tools).map(([name]) => name)).toEqual([
      'count',
      'db:query',
      'evil:read',
      'log:query',
      'read',
      'say',
      'status',
    ]);
    const help = parse('/help');
    expect(help).toMatchObject({ kind: 'help' });
    expect(help).toHaveProperty(
      'text',
      expect.stringMatching(/^\/read <path> \[limit\] \[--dry_run\].*Reads a file\.$/m),
    );
  });

  it('/help read tells every parameter from the schema', () => {
    const lines = ['/help read', '/help /read', '/help fs:read_file'].map(parse);
    expect(new Set(lines.map((line) => JSON.stringify(line))).size).toBe(1);
    const [help] = lines;
    const text = help?.kind === 'help' ? help.text : '';
    expect(text).toContain('Runs fs:read_file.');
    expect(text).toContain('path (string; required)  Which file.');
    expect(text).toContain('limit (integer; optional; default 100)');
    expect(text).toContain('mode (string; optional; one of fast, slow)');
    expect(parse('/help reed')).toMatchObject({ kind: 'problem' });
  });
});

describe('a command in a session', () => {
  it('runs without the model, and the model sees later what came of it, as data', async () => {
    const provider = scripted('You read it.');
    await using world = await openWorld({ provider, tools: [echo] });
    const typed = await world.agent.turn('/echo "hello there"', { sessionId: 'one' });
    expect(textOf(typed.segments)).toBe('hello there');
    expect(world.eventsOf('INPUT:COMMAND')).toEqual([{ text: '/echo "hello there"' }]);
    await world.agent.turn('What did I do?', { sessionId: 'one' });
    const blocks = provider.asked[0]?.context.blocks;
    expect(blocks?.map(({ role }) => role)).toEqual(['user', 'tool']);
    expect(blocks?.[1]).toMatchObject({ type: 'data', source: 'tool:test:echo' });
  });

  it('fails with the code of what went wrong, and never falls through to the model', async () => {
    const provider = scripted();
    await using world = await openWorld({ provider, tools: [echo] });
    await expect(world.agent.turn('/ecko hi')).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'command', fix: expect.any(String) },
    });
    await expect(world.agent.turn('/echo')).rejects.toMatchObject({ code: 'BAD_INPUT' });
    expect(textOf((await world.agent.turn('/help')).segments)).toContain('/echo <text>');
    expect(provider.asked).toEqual([]);
  });
});

/** The text as one word that reads back as itself, and as nothing but text. */
function quoteWord(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** The line that asks for exactly this call. */
function toCommand(name: string, args: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(args).map(([key, value]) => {
    return `${key}=${quoteWord(typeof value === 'string' ? value : JSON.stringify(value))}`;
  });
  return [`/${name}`, ...words].join(' ');
}
