// Two gateways behind a balancer and two nodes: parts are killed one after the other, and clients go on.

import assert from 'node:assert/strict';
import { currentClient, olderClient, read, submit, waitFor } from '../../prove/fleet/clients.ts';
import { openWorld } from '../../prove/fleet/world.ts';

console.log('starting two gateways, two nodes, nginx, Postgres and Redis');
await using fleet = await openWorld({ gateways: 2, nodes: 2 });
const current = currentClient(fleet.url);
const older = await olderClient(fleet.url);

const failures: string[] = [];
let asked = 0;

await callOften('all is well');
assert.deepEqual(failures, []);
const job = await submit(current, 'job', 500);
console.log(`a job is stored: ${job}`);

await fleet.gateways[0]?.part.kill();
await callOften('a gateway was killed');
await fleet.gateways[0]?.part.start();

await fleet.nodes[0]?.kill();
await callOften('a node was killed');
await fleet.nodes[0]?.start();

await fleet.postgres.stop();
await callOften('Postgres is away');
await fleet.postgres.restart();

const { state } = await waitFor(older, job);
console.log(`the job ${state}; it was asked for at another gateway than the one that stored it`);
const runs = (await fleet.effects()).filter((id) => id === 'job').length;
assert.ok(runs <= 1, `the job ran ${runs} times`);
assert.ok(state === 'succeeded' ? runs === 1 : state === 'failed');
console.log(
  `${asked} calls of two revisions were answered; ${failures.length} had to be tried again`,
);

async function callOften(when: string): Promise<void> {
  const before = failures.length;
  for (let count = 0; count < 5; count += 1) {
    for (const client of [current, older]) {
      asked += 1;
      await read(client, `${when} ${asked}`, (why) => failures.push(why));
    }
  }
  console.log(`${when}: ten calls answered, ${failures.length - before} of them tried again`);
}
