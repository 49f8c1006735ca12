// Three agents, each in a process of its own, write one report together. One is killed in the middle
// of it; another goes on where it stopped. The editor looks on, and checks that nothing is lost,
// nothing stands there twice, and the dead do not write.

import assert from 'node:assert/strict';
import {
  applyUpdate,
  type ContextChange,
  openCoordinationClient,
  rpcCodeOf,
  webSocketConnect,
} from '@starloom/coordination-client';
import { startGateway } from '../start-gateway.ts';
import { startProgram } from '../start-program.ts';
import { PARTS, REPORT } from './report.ts';
import type { Said } from './writer.ts';

const STALE = -32015;
const LINES = Object.values(REPORT).flat().length;

await using gateway = await startGateway(import.meta.dirname);
const editor = await openClient('editor');
const { session_id } = await editor.sessions.create({ metadata: { title: 'The report' } });
const { promise: benIsLost, resolve: onLost } = Promise.withResolvers<void>();
editor.on('agent_disconnected', ({ agent_id }) => agent_id === 'ben' && onLost());
const { promise: complete, resolve: onComplete } = Promise.withResolvers<void>();
const changes: ContextChange[] = [];
await editor.subscribe({ session_id, keys: PARTS }, { update: look });

await using ada = await startWriter('ada', 'why');
await using ben = await startWriter('ben', 'how', 2);
await using cleo = await startWriter('cleo', 'when');
for (const writer of [ada, ben, cleo]) await writer.line(({ has }) => has !== undefined);
console.log('ada, ben and cleo have a part each; the editor says begin');
await editor.context.update({ session_id, with_lock: true, update: { outline: PARTS } });

const { lock_token = 0, epoch = 0 } = await ben.line((said) => said.lock_token !== undefined);
await ben.kill();
console.log('ben    †      killed, while he holds the lock and the others wait for it');

await benIsLost;
for (const writer of [ada, cleo]) await writer.line((said) => said.lost === 'ben');
console.log('       ada, cleo and the editor were notified that ben is gone');
for (const writer of [ada, cleo]) await writer.line(({ done }) => done === true);
await complete;

const line = { session_id, op: 'append', update: { how: ['From beyond.'] }, lock_token } as const;
const onItsWay = await editor.context.update({ ...line, agent_id: 'ben', epoch }).catch(rpcCodeOf);
assert.equal(onItsWay, STALE);
const benAgain = await openClient('ben');
const withOldLock = await benAgain.context.update(line).catch(rpcCodeOf);
assert.equal(withOldLock, STALE);
console.log(`ben    †      late writes under his old lock are refused (${STALE})`);

const { context } = await editor.context.get({ session_id });
assert.deepEqual(context, { outline: PARTS, ...REPORT });
assert.deepEqual(changes.reduce(applyUpdate, {}), REPORT);
const [first, ...others] = changes.filter(({ update }) => update.how).map((by) => by.agent_id);
assert.equal(first, 'ben');
assert(others.every((name) => name !== 'ben'));
console.log(
  `all of it worked: ${LINES} lines, each once; ben began "how", ${others[0]} finished it`,
);
await Promise.all([editor.unregister(), benAgain.unregister()]);

/** Tells of a line as it arrives. */
function look(change: ContextChange): void {
  changes.push(change);
  for (const [part, lines] of Object.entries(change.update)) {
    assert(Array.isArray(lines));
    const place = `${part} ${lines.length}`;
    console.log(`${change.agent_id.padEnd(6)} ${place.padEnd(6)} ${lines.at(-1)}`);
  }
  if (changes.length === LINES) onComplete();
}

function openClient(agentId: string) {
  const { url, key } = gateway;
  const connect = webSocketConnect({ url: `${url.replace(/^http/, 'ws')}/rpc/ws`, key });
  return openCoordinationClient({ agentId, connect });
}

function startWriter(name: string, part: string, silentAt?: number) {
  const script = `${import.meta.dirname}/writer.ts`;
  const { url, key } = gateway;
  return startProgram<Said>({
    args: [script, name, session_id, part, ...(silentAt ? [String(silentAt)] : [])],
    env: { GATEWAY_URL: url, GATEWAY_KEY: key },
  });
}
