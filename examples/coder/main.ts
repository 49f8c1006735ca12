// An agent with files and git, put behind the gateway with one line. An MCP client works with it
// through the gateway: by its tools, and by asking it. Checks itself.

import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { runProgram, temporaryFolder } from '@starloom/testkit';
import { startGateway } from '../start-gateway.ts';
import { STARLOOM } from '../start-program.ts';

interface Added {
  readonly file: string;
  readonly agent: { readonly capabilities: readonly { readonly name: string }[] };
}

await using folder = await temporaryFolder();
for (const part of ['coder', 'project']) {
  await cp(`${import.meta.dirname}/${part}`, `${folder.path}/${part}`, { recursive: true });
}
await git('init', '--quiet');
await git('add', '.');
await git('commit', '--quiet', '--message=A greeting');

console.log('$ starloom agents add coder');
const added = await run(process.execPath, [STARLOOM, 'agents', 'add', 'coder', '--json']);
const { file, agent }: Added = JSON.parse(added);
console.log(`  in ${file}: ${agent.capabilities.map(({ name }) => name).join(', ')}`);

await using gateway = await startGateway(folder.path);
const client = new Client({ name: 'editor', version: '1.0.0' });
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp?tool_names=dots`), {
    requestInit: { headers: { authorization: `Bearer ${gateway.key}` } },
  }),
);
// Its tools are listed as soon as the agent has started and said what they take.
const patience = AbortSignal.timeout(30_000);
while ((await listedTools()) < agent.capabilities.length) patience.throwIfAborted();

assert.match(await use('coder.fs.read_file', { path: 'greet.js' }), /Hello!/);
await use('coder.ask', { prompt: 'Greet the whole world, please.' });
assert.match(await use('coder.git.diff'), /^-.*Hello!.*\n\+.*Hello, world!/m);

const edit = { path: 'greet.js', old_text: 'world', new_text: 'everybody' };
await use('coder.fs.edit_file', edit);
assert.match(await use('coder.git.status'), /^ M greet\.js$/m);
assert.match(await use('coder.fs.read_file', { path: 'greet.js' }), /Hello, everybody!/);

for (const path of ['../coder/agent.json', `${folder.path}/coder/agent.json`]) {
  const { code, message } = await refused('coder.fs.read_file', { path });
  console.log(`coder.fs.read_file ${path.replace(folder.path, '…')}\n  ${code}: ${message}`);
  assert.equal(code, 'POLICY_DENIED');
}
await client.close();
console.log('all of it worked');

async function listedTools(): Promise<number> {
  const { tools } = await client.listTools();
  return tools.filter(({ name }) => name.startsWith('coder.')).length;
}

async function call(name: string, args: Record<string, unknown>) {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
  const [block] = result.content;
  return { isError: result.isError === true, text: block?.type === 'text' ? block.text : '' };
}

async function use(name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { isError, text } = await call(name, args);
  const given = Object.values(args).map((value) => JSON.stringify(value));
  console.log([name, ...given].join(' '));
  console.log(text.trimEnd().replaceAll(/^/gm, '  '));
  assert.equal(isError, false, text);
  return text;
}

async function refused(
  name: string,
  args: Record<string, unknown>,
): Promise<{ code: string; message: string }> {
  const { isError, text } = await call(name, args);
  assert.equal(isError, true, text);
  return JSON.parse(text).error;
}

async function git(...args: string[]): Promise<void> {
  const settings = ['user.name=Editor', 'user.email=editor@example.com', 'commit.gpgSign=false'];
  const options = settings.flatMap((setting) => ['-c', setting]);
  await run('git', [...options, '-C', `${folder.path}/project`, ...args]);
}

async function run(command: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram({ command, args, cwd: folder.path });
  assert.equal(code, 0, stderr);
  return stdout;
}
