// A scripted session of an editor: the agent works in its folder, on its unsaved files, in its terminal. Checks itself.

import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { runProgram, temporaryFolder } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { STARLOOM } from '../start-program.ts';

await using folder = await temporaryFolder();
for (const part of ['agent', 'project']) {
  await cp(join(import.meta.dirname, part), join(folder.path, part), { recursive: true });
}
const project = join(folder.path, 'project');
const file = join(project, 'greet.js');
/** Open in the editor: what the person has typed, and not saved. */
const buffers = new Map([[file, `// unsaved\n${await readFile(file, 'utf8')}`]]);
const terminals = new Map<string, Promise<{ code: number; output: string }>>();
const seen: SessionUpdate[] = [];

await using program = await spawnProcess({
  command: process.execPath,
  args: [...process.execArgv, STARLOOM, 'agent', 'run', join(folder.path, 'agent'), '--acp'],
  env: childEnvironment({ extra: { STARLOOM_HOME: join(folder.path, 'home') } }),
});
const { agent } = client({ name: 'editor' })
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    seen.push(update);
    show(update);
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    console.log(`the agent asks for ${params.toolCall.title}: allowed`);
    return { outcome: { outcome: 'selected', optionId: 'once' } };
  })
  .onRequest(methods.client.fs.readTextFile, ({ params }) => ({
    content: buffers.get(params.path) ?? '',
  }))
  .onRequest(methods.client.fs.writeTextFile, async ({ params: { path, content } }) => {
    buffers.set(path, content);
    await writeFile(path, content);
    return {};
  })
  .onRequest(methods.client.terminal.create, ({ params: { command, args = [], cwd } }) => {
    const id = `terminal ${terminals.size + 1}`;
    const run = runProgram({ command, args, cwd: cwd ?? project });
    terminals.set(
      id,
      run.then(({ code, stdout }) => ({ code: code ?? 1, output: stdout })),
    );
    return { terminalId: id };
  })
  .onRequest(methods.client.terminal.waitForExit, async ({ params }) => ({
    exitCode: (await terminals.get(params.terminalId))?.code ?? 1,
  }))
  .onRequest(methods.client.terminal.output, async ({ params }) => ({
    output: (await terminals.get(params.terminalId))?.output ?? '',
    truncated: false,
  }))
  .onRequest(methods.client.terminal.release, () => ({}))
  .connect(
    ndJsonStream(
      Writable.toWeb(program.stdin),
      Readable.toWeb(program.stdout) as ReadableStream<Uint8Array>,
    ),
  );

const { agentInfo } = await agent.request(methods.agent.initialize, {
  protocolVersion: PROTOCOL_VERSION,
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
});
console.log(`${agentInfo?.name} ${agentInfo?.version} is there`);
const { sessionId, modes } = await agent.request(methods.agent.session.new, {
  cwd: project,
  mcpServers: [],
});
assert.deepEqual(
  modes?.availableModes.map(({ id }) => id),
  ['default', 'read'],
);

assert.equal(await prompt('Let greet.js greet everybody, and run it.'), 'end_turn');
const diffs = seen.flatMap((one) =>
  'content' in one && Array.isArray(one.content) ? one.content : [],
);
const diff = diffs.find(({ type }) => type === 'diff');
assert.deepEqual(diff, {
  type: 'diff',
  path: file,
  oldText: "// unsaved\nconsole.log('Hello, nobody!');\n",
  newText: "// unsaved\nconsole.log('Hello, everybody!');\n",
});
assert.match(await readFile(file, 'utf8'), /unsaved\n.*everybody/);
const [ran] = await Promise.all(terminals.values());
assert.equal(ran?.output.trim(), 'Hello, everybody!');

await agent.request(methods.agent.session.setMode, { sessionId, modeId: 'read' });
await prompt('Make new.js.');
assert.ok(seen.some((one) => 'status' in one && one.status === 'failed'));
console.log('all of it worked');

async function prompt(text: string): Promise<string> {
  console.log(`> ${text}`);
  const asked: PromptRequest = { sessionId, prompt: [{ type: 'text', text }] };
  const { stopReason } = await agent.request(methods.agent.session.prompt, asked);
  return stopReason;
}

function show(update: SessionUpdate): void {
  if (update.sessionUpdate === 'tool_call') console.log(`  ${update.title}`);
  const content = 'content' in update && Array.isArray(update.content) ? update.content : [];
  for (const one of content) {
    if (one.type === 'diff') console.log(`    ${one.path.replace(project, '…')} changed`);
    if (one.type === 'terminal') console.log(`    in ${one.terminalId}`);
  }
}
