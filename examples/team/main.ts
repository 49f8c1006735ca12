// A planner gives four tasks away by one call: to two helpers, to an agent of ours over A2A, to one of another SDK. Checks itself.

import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentEvent, openAgent } from '@starloom/runtime';
import { temporaryFolder } from '@starloom/testkit';
import { STARLOOM, startProgram } from '../start-program.ts';

interface Line {
  readonly event?: string;
  readonly url?: string;
}

await using folder = await temporaryFolder();
for (const part of ['planner', 'reviewer']) {
  await cp(join(import.meta.dirname, part), join(folder.path, part), { recursive: true });
}
const env = { STARLOOM_HOME: join(folder.path, 'home') };
const served = ['--a2a', '--anonymous', '--port', '0', '--json'];
await using reviewer = await startProgram<Line>({
  args: [STARLOOM, 'agent', 'run', join(folder.path, 'reviewer'), ...served],
  env,
});
await using greeter = await startProgram<Line>({
  args: [join(import.meta.dirname, '../zoo/agents/a2a.ts')],
});
const [ours, theirs] = await Promise.all([
  reviewer.line(({ url }) => url !== undefined),
  greeter.line(({ url }) => url !== undefined),
]);
const peers = [
  ['reviewer', ours.url],
  ['greeter', theirs.url],
].map(([name, card]) => `[[a2a.peers]]\nname = "${name}"\ncard = "${card}"\n`);
await writeFile(join(folder.path, 'planner', 'agent.toml'), peers.join('\n'));

const events: AgentEvent[] = [];
await using planner = await openAgent({ path: join(folder.path, 'planner') });
planner.bus.onAny((event) => events.push(event));
const { segments, trace, steps } = await planner.turn('Plan the release, please.');
console.log(segments.map(({ text }) => text).join(''));
assert.equal(segments.at(-1)?.text, 'The release is planned.');

const answers = new Map<string, string>();
for (const event of events) {
  assert.equal(event.trace.trace_id, trace.trace_id);
  if (event.type === 'EXEC:DELEGATED') {
    const { to, kind, tools } = event.data;
    console.log(`→ ${to} (${kind})${tools.length > 0 ? ` with ${tools.join(', ')}` : ''}`);
  }
  if (event.type === 'EXEC:TOOL_RESULT' && event.data.call.name === 'agent:delegate') {
    const { call, result } = event.data;
    const text = result.output.map((segment) => segment.text).join('');
    answers.set(call.id, text);
    console.log(`← ${call.id}: ${text.split('\n', 1)}`);
  }
}
assert.equal(answers.get('notes'), 'Three fixes, no change of behaviour.');
assert.equal(answers.get('title'), 'Quiet Harbour');
assert.equal(answers.get('review'), 'Looks good: ship it.');
assert.match(answers.get('greeting') ?? '', /Hello, Ada! I speak A2A\./);

const kinds = events.flatMap((one) => (one.type === 'EXEC:DELEGATED' ? one.data.kind : []));
assert.deepEqual(kinds.toSorted(), ['helper', 'peer', 'peer', 'process']);
const refused = events.flatMap((one) =>
  one.type === 'EXEC:TOOL_RESULT' && one.data.call.name === 'fs:write_file' ? one.data.code : [],
);
assert.deepEqual(refused, ['CAPABILITY_NOT_FOUND'], 'the reader has nothing that writes');
assert.match(await readFile(join(folder.path, 'planner', 'notes.md'), 'utf8'), /three fixes/);
assert.equal(steps, 6, 'the steps of the helpers count for the planner');
console.log('all of it worked');
