import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningGateway, startGateway } from './running-gateway.ts';

const EVERYTHING = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
);
const WHERE = fileURLToPath(new URL('./fixtures/where.cjs', import.meta.url));

/** Hands over what is attached to the call, under a name that leads elsewhere, in two pieces. */
const SCRIBE = `
const { createInterface } = require('node:readline');
const say = (type, data) => console.log(JSON.stringify({ type, data }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { envelope } = JSON.parse(line);
  if (!envelope) return process.exit(0);
  const { attachments } = envelope.input;
  for (const [index, { name, media_type, text = '', data }] of attachments.entries()) {
    const about = { id: 'a' + index, name: '../' + name, media_type };
    if (data) say('artifact', { ...about, data, last: true });
    else {
      say('artifact', { ...about, text: text.slice(0, 2) });
      say('artifact', { ...about, text: text.slice(2), append: true, last: true });
    }
  }
  say('final', { answer: attachments.map(({ name }) => name).join() });
  process.exit(0);
});
`;

const AGENTS = `- agent_id: scribe
  endpoint: { transport: process, command: node, args: [./scribe.cjs] }
  capabilities: [{ name: copy, streaming: true }]
- agent_id: everything
  endpoint: { transport: stdio, command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(EVERYTHING)}] }
- agent_id: where
  endpoint: { transport: stdio, command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(WHERE)}] }
`;

describe('starloom call with files', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway({
      'agents.yaml': AGENTS,
      'scribe.cjs': SCRIBE,
      'notes.md': 'good morning',
    });
    await writeFile(join(gateway.folder, 'dot.png'), Buffer.from([1, 0, 255]));
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });
  const FILES = ['--attach', 'notes.md', '--attach', 'dot.png'];
  const read = (path: string) => readFile(join(gateway.folder, path));

  it('attaches them, shows what comes back by name, type and size, and writes nothing', async () => {
    const { code, stdout, stderr } = await gateway.run('call', 'scribe', 'copy', ...FILES);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'notes.md,dot.png\n' });
    expect(stderr).toContain('artifact: ../notes.md, text/markdown, 12 bytes\n');
    expect(stderr).toContain('artifact: ../dot.png, image/png, 3 bytes\n');
    expect(stderr).toContain('--save <folder>');
  });

  it('writes them into a folder and nowhere else, each under a name of its own', async () => {
    const save = ['call', 'scribe', 'copy', ...FILES, '--save', 'out/deep', '--stream'];
    const first = await gateway.run(...save);
    expect(first.stderr).toContain('(scribe writes ../notes.md)');
    expect(first.stderr).toContain('saved: out/deep/_notes.md\n');
    expect(await read('out/deep/_notes.md')).toEqual(Buffer.from('good morning'));
    expect(await read('out/deep/_dot.png')).toEqual(Buffer.from([1, 0, 255]));
    const second = await gateway.run(...save);
    expect(second.stderr).toContain('saved: out/deep/_notes-2.md\n');
    const forced = await gateway.run(...save, '--force', '--json');
    const saved = { saved: ['out/deep/_notes.md', 'out/deep/_dot.png'] };
    expect(JSON.parse(forced.stderr)).toEqual(saved);
    const json = await gateway.run('call', 'scribe', 'copy', ...FILES, '--save', 'j', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      result: {
        artifacts: [
          { id: 'a0', text: 'good morning' },
          { id: 'a1', data: 'AQD/' },
        ],
      },
      saved: ['j/_notes.md', 'j/_dot.png'],
    });
  });

  it('shows and writes the pictures of an MCP answer, and shows its links', async () => {
    const picture = ['call', 'everything', 'get-tiny-image'];
    const { stderr } = await gateway.run(...picture, '--save', 'pictures');
    expect(stderr).toMatch(
      /artifact: image-2, image\/png, \d\.\d kB\n.*saved: pictures\/image-2\.png/,
    );
    const png = await read('pictures/image-2.png');
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    const links = await gateway.run('call', 'everything', 'get-resource-links');
    expect(links.stderr).toContain('at starloom:everything:demo://resource/');
    expect(links.stderr).not.toContain('--save');
  });

  it('says so when the agent takes no attachments', async () => {
    const { code, stderr } = await gateway.run('call', 'where', 'cwd', '--attach', 'notes.md');
    expect(code).toBe(2);
    expect(stderr).toMatch(/takes no attachments(.|\n)*fix: call without attachments/);
  });

  it.each([
    ['a file that is not there', ['--attach', 'gone.md'], /Cannot read the attachment gone\.md/],
    ['a folder that is a file', ['--save', 'notes.md/x'], /Cannot write notes\.md\/x/],
  ])('says so before the call: %s', async (_, options, said) => {
    const { code, stdout, stderr } = await gateway.run('call', 'scribe', 'copy', ...options);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(said);
  });

  it('says so when they are more than the gateway takes', async () => {
    await writeFile(join(gateway.folder, 'large.txt'), 'x'.repeat(5_000_000));
    const large = await gateway.run('call', 'scribe', 'copy', '--attach', 'large.txt');
    expect(large.code).toBe(2);
    expect(large.stderr).toMatch(/error BAD_INPUT: .*(larg|limit)/);
  });
});
