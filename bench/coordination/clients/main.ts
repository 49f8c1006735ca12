// The clients of the gateway, in a process of their own. A line in is a piece of work, a line out
// what came of it.

import { FabricError } from '@starloom/core';
import { readNdjson } from '@starloom/wire';
import { FanOut } from './fan-out.ts';
import { measureResume } from './resume.ts';
import { measureUpdates } from './updates.ts';
import type { ClientWork, FanOutWork, WorkKind } from './work.ts';

/** By address. */
const fanOuts = new Map<string, FanOut>();

for await (const work of readNdjson(process.stdin, { maxLineBytes: 1 << 20 })) {
  const answer = await run(work as ClientWork[WorkKind]['work']).then(
    (result) => ({ result }),
    (thrown: unknown) => {
      const { message, details } = FabricError.from(thrown);
      return { failure: `${message} ${JSON.stringify(details)}` };
    },
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

async function run(work: ClientWork[WorkKind]['work']): Promise<ClientWork[WorkKind]['result']> {
  switch (work.kind) {
    case 'update':
      return await measureUpdates(work);
    case 'fan_out':
      return await (await fanOutOf(work)).measure(work);
    case 'resume':
      return await measureResume(work);
  }
}

async function fanOutOf(work: FanOutWork): Promise<FanOut> {
  const { url } = work.address;
  const fanOut = fanOuts.get(url) ?? (await FanOut.open(work));
  fanOuts.set(url, fanOut);
  return fanOut;
}
