// Redis through the plane, and the very commands that the plane sends, sent again by the same client
// library with nothing around it. They carry no idempotency key and expect only what stays as it is
// (session, member, lock), so that Redis does the same work each time.

import { openStore } from '@starloom/coordination';
import { FabricError, silentLog } from '@starloom/core';
import { openEngine } from '@starloom/testkit';
import { createClient } from 'redis';
import { measureHere } from './measure-here.ts';
import { type CellName, IN_FLIGHT } from './plan.ts';
import { type LockUse, openPlane, type Plane, planeTarget, update } from './plane.ts';
import { type RedisCommand, seenCommands } from './redis-commands.ts';
import type { Part, UpdateTarget } from './update-target.ts';

const USES = ['lock_token', 'with_lock'] as const satisfies readonly LockUse[];

export async function openRedisPart(): Promise<Part> {
  await using opened = new AsyncDisposableStack();
  const engine = opened.use(await openEngine('redis'));
  const store = await openStore({ kind: 'redis', url: engine.url }, { log: silentLog });
  opened.defer(() => store.close());
  const client = await connect(engine.url);
  opened.defer(() => client.destroy());
  const targets: UpdateTarget[] = [];
  for (const use of USES) {
    const plane = opened.use(await openPlane(store, use));
    const commands = await sentBy(plane, engine.url);
    targets.push(planeTarget(`redis.${use}`, plane), bareTarget(`redis.${use}`, client, commands));
  }
  const kept = opened.move();
  return {
    targets,
    versions: { 'redis-server': engine.version },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** As the store sets it up. */
function connect(url: string) {
  return createClient({ url, RESP: 2, commandOptions: { timeout: 0 } }).connect();
}

/** The first round makes Redis know the script, so that the second is what comes from then on. */
async function sentBy({ writers }: Plane, url: string): Promise<readonly RedisCommand[]> {
  const updateAll = async () => {
    for (const writer of writers) {
      for (const turn of writer.requests.keys()) await update(writer, turn);
    }
  };
  await updateAll();
  const commands = await seenCommands(url, 'EVALSHA', updateAll);
  const expected = writers.reduce((count, { requests }) => count + requests.length, 0);
  if (commands.length === expected) return commands;
  throw new FabricError('INTERNAL', 'An update is not one script', {
    details: { updates: expected, scripts: commands.length },
  });
}

function bareTarget(
  cell: CellName,
  client: Awaited<ReturnType<typeof connect>>,
  commands: readonly RedisCommand[],
): UpdateTarget {
  const step = async (_: number, turn: number) => {
    const reply = await client.sendCommand<readonly unknown[]>(
      commands[turn % commands.length] ?? [],
    );
    if (reply[0] !== 'ok') throw new FabricError('UPSTREAM_ERROR', `Redis answered ${reply[0]}`);
  };
  const work = { workers: IN_FLIGHT, updatesPerStep: 1, step };
  return { cell, name: 'bare', measure: (slice) => measureHere(work, slice) };
}
