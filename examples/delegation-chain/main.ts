// Ada's passport lets an assistant act for her. The assistant asks the planner, the planner the coder, the
// coder a tool that reads files: four hops, each with a narrower mandate. The coder tries to do more than
// it was given, and is refused. Every agent verifies its mandate by itself. Checks itself.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { verifyMandate, verifyMandateChain } from '@starloom/identity';
import { temporaryFolder } from '@starloom/testkit';
import { STARLOOM, startProgram } from '../start-program.ts';
import { type Keys, startMandatedAgent } from './mandated-agent.ts';

let url = '';
let keys: Keys | undefined;
const known = () => keys ?? assert.fail('the keys are not known yet');
const refusals: string[] = [];

await using planner = await startMandatedAgent('planner', known, async ({ token, mandate }) => {
  console.log(`  planner: ${mandate.delegateId} acts for ${mandate.principalId}`);
  const { result } = await call(byMandate(token), 'coder', 'code', 'fix the bug');
  return `plan: ${result?.answer}`;
});
await using coder = await startMandatedAgent('coder', known, async ({ token, mandate }) => {
  console.log(`  coder: ${mandate.delegateId} acts for ${mandate.principalId}`);
  const { result } = await call(byMandate(token), 'files', 'read', 'main.ts');
  for (const [agent, capability] of [
    ['files', 'write'],
    ['planner', 'plan'],
  ] as const) {
    const { error } = await call(byMandate(token), agent, capability, 'more than it may');
    refusals.push(`${agent}/${capability}: ${error?.code}`);
  }
  return `code from ${result?.answer}`;
});
await using files = await startMandatedAgent('files', known, async ({ task, mandate }) => {
  console.log(`  files: ${mandate.delegateId} acts for ${mandate.principalId}`);
  return `the text of ${task}`;
});

await using folder = await temporaryFolder();
const agent = (agent_id: string, uri: string, names: string[], may_call: string[] = []) => ({
  agent_id,
  endpoint: { transport: 'http', protocol: 'http', uri },
  capabilities: names.map((name) => ({ name })),
  trust_tier: 'org',
  auth: { mandate: true, may_call },
});
await writeFile(
  join(folder.path, 'agents.yaml'),
  JSON.stringify([
    agent('planner', planner.url, ['plan'], ['agent:coder', 'agent:files']),
    agent('coder', coder.url, ['code'], ['capability:files/read']),
    agent('files', files.url, ['read', 'write']),
  ]),
);
const env = { STARLOOM_HOME: join(folder.path, 'home') };
await using gateway = await startProgram<{ event: string; url: string }>({
  args: [STARLOOM, 'up', '--json', '--port', '0'],
  cwd: folder.path,
  env,
});
({ url } = await gateway.line(({ event }) => event === 'ready'));
const published = await fetch(new URL('/.well-known/jwks.json', url));
const jwks = (await published.json()) as { issuer: string; keys: object[] };
keys = { jwks: jwks as never, issuer: jwks.issuer };

console.log('Ada gives her assistant a passport for the planner, the coder and the files');
const passport = await starloom(
  ...['passport', 'create', 'ada', '--delegate', 'assistant', '--calls', '8'],
  ...['--scope', 'agent:planner', 'agent:coder', 'agent:files'],
);
const { result, trace } = await call(
  { 'x-agent-passport': passport },
  'planner',
  'plan',
  'ship it',
);
assert.equal(result?.answer, 'plan: code from the text of main.ts');

console.log('every mandate is narrower than the one before it');
const chain = [planner, coder, files].map(({ tokens }) => tokens[0] ?? '');
const mandates = await verifyMandateChain(chain, keys);
for (const { delegateId, claims } of mandates) {
  console.log(`  ${delegateId} → ${claims.aud}: ${claims.cap.join(', ')} (depth ${claims.dep})`);
}
assert.deepEqual(
  mandates.map(({ cap }) => cap),
  [['planner/plan', 'coder/*', 'files/*'], ['coder/code', 'files/read'], ['files/read']],
);
assert(mandates.every(({ principalId }) => principalId === 'ada'));
assert.deepEqual(
  mandates.map(({ claims }) => claims.bud.calls),
  [8, 7, 6],
  'all calls below the first one share a budget',
);

console.log(`the coder tried more, and was refused: ${refusals.join('; ')}`);
assert.deepEqual(refusals, [
  'files/write: CAPABILITY_NOT_FOUND',
  'planner/plan: CAPABILITY_NOT_FOUND',
]);
assert.equal(files.tokens.length, 1, 'nothing more reached the files');

const [forPlanner = '', forCoder = ''] = chain;
await assert.rejects(verifyMandate(forPlanner, { ...keys, audience: 'coder' }), {
  code: 'AUTH_DENIED',
});
const late = await fetch(new URL('/mcp', url), { headers: byMandate(forCoder) });
assert.equal(late.status, 401, 'a mandate ends with its call');
assert(![planner, coder, files].some(({ tokens }) => tokens.includes(passport)));

console.log('the audit log tells the story');
const story = (await starloom('audit', 'show', '--trace', trace.trace_id)).split('\n');
for (const line of story) console.log(`  ${line.slice(26)}`);
assert.equal(story.filter((line) => line.includes('  mint ')).length, 3);
assert.equal(story.filter((line) => line.includes('  deny ')).length, 2);
assert.match(await starloom('audit', 'verify'), /^intact: /);

await starloom('passport', 'revoke', 'principal', 'ada');
await until(async () => {
  const again = await fetch(new URL('/mcp', url), { headers: { 'x-agent-passport': passport } });
  return again.status === 401;
});
console.log('Ada is revoked, and her passport is refused');

interface Answer {
  readonly result?: { readonly answer: string };
  readonly error?: { readonly code: string };
  readonly trace: { readonly trace_id: string };
}

function byMandate(token: string): Record<string, string> {
  return { 'x-agent-mandate': token };
}

async function call(
  headers: Record<string, string>,
  agent_id: string,
  capability: string,
  task: string,
): Promise<Answer> {
  const client = new Client({ name: 'delegation-chain', version: '1.0.0' });
  const target = new URL('/mcp', url);
  await client.connect(new StreamableHTTPClientTransport(target, { requestInit: { headers } }));
  const { structuredContent } = await client.callTool({
    name: 'fabric.call',
    arguments: { agent_id, capability, task },
  });
  await client.close();
  return structuredContent as unknown as Answer;
}

async function starloom(...words: string[]): Promise<string> {
  const args = [...process.execArgv, STARLOOM, ...words];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: folder.path,
    env: { ...process.env, ...env },
  });
  return stdout.trim();
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const signal = AbortSignal.timeout(20_000);
  while (!(await isTrue())) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
