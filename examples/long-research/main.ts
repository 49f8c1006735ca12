// A call that takes longer than the gateway lives: it becomes a job, the gateway is killed twice in the
// middle, the client's stream resumes where it was, and the report is complete. Checks itself.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { freePort, temporaryFolder } from '@starloom/testkit';
import { STARLOOM, startProgram } from '../start-program.ts';
import { STEPS, startResearcher } from './researcher.ts';

await using researcher = await startResearcher();
await using folder = await temporaryFolder();
const port = await freePort();
const agent = {
  agent_id: 'researcher',
  endpoint: { transport: 'http', protocol: 'http', uri: researcher.url },
  capabilities: [{ name: 'research', streaming: true, idempotent: true }],
  trust_tier: 'org',
};
await writeFile(join(folder.path, 'agents.yaml'), JSON.stringify([agent]));

let gateway = await startGateway();
const started = await withClient((client) =>
  ask(client, 'fabric.call', { capability: 'research', task: 'agents', async: true }),
);
const { job_id } = started;
console.log(`accepted as job ${job_id}, ${started.state}`);

const cursors: number[] = [];
let connections = 0;
const following = follow();
for (const step of ['history', 'objections']) {
  while (!researcher.done.has(step)) await delay(20);
  await gateway.kill();
  console.log(`killed the gateway after "${step}"`);
  gateway = await startGateway();
}
const job = await following;
await gateway[Symbol.asyncDispose]();

console.log(`${job.state} after ${job.attempt} attempts and ${researcher.calls} calls`);
assert.equal(job.state, 'succeeded');
const report: string = job.result.result.answer;
assert.equal(report.split('\n').length, STEPS.length, 'the report is complete');
assert.deepEqual(
  cursors,
  cursors.map((_, index) => index + 1),
  'no event is missing and none came twice',
);
assert(connections >= 2, 'the stream was resumed');
assert.equal(researcher.calls, 3, 'each gateway called the agent once');
for (const [step, times] of researcher.done) assert.equal(times, 1, `${step} was done once`);
console.log('the report is complete, and no step was done twice');

/** Follows the job over all connections, each time from the last event it has. */
async function follow(): Promise<Payload> {
  for (;;) {
    try {
      return await withClient(async (client) => {
        const after = cursors.at(-1) ?? 0;
        connections += 1;
        const onprogress = (progress: Payload) => {
          cursors.push(progress._meta['io.starloom/cursor']);
        };
        // A connection that carries nothing for a while is given up, and the stream asked for again.
        const options = { onprogress, timeout: 3_000, resetTimeoutOnProgress: true };
        const { job } = await ask(client, 'fabric.job.stream', { job_id, after }, options);
        return job;
      });
    } catch {
      await delay(100);
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the payload is read, not computed with
type Payload = any;

async function ask(client: Client, name: string, args: object, options = {}): Promise<Payload> {
  const answer = await client.callTool({ name, arguments: { ...args } }, options);
  const payload = answer.structuredContent as Payload;
  assert.equal(payload.ok, true, JSON.stringify(payload.error));
  return payload;
}

async function withClient<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const { key } = JSON.parse(await readFile(join(folder.path, 'state', 'client.json'), 'utf8'));
  const client = new Client({ name: 'long-research', version: '1.0.0' });
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** On the same port and the same state, however the one before ended. */
async function startGateway() {
  const program = await startProgram<{ event: string }>({
    args: [STARLOOM, 'up', '--json', '--port', String(port)],
    cwd: folder.path,
    env: { STARLOOM_HOME: join(folder.path, 'state') },
  });
  await program.line(({ event }) => event === 'ready');
  return program;
}
