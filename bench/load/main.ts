// The load generator, in a process of its own so that it shares no event loop with what it measures.
// A line in is a slice, a line out its result.

import { readNdjson } from '@starloom/wire';
import { runSlice } from './run-slice.ts';
import type { Slice } from './slice.ts';

for await (const slice of readNdjson(process.stdin, { maxLineBytes: 1 << 20 })) {
  const result = await runSlice(slice as Slice);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
