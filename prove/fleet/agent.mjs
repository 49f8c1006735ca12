// The agent of the proof, beside each node. Every run is a line in the file of effects, written before
// the answer: what ran twice, or never, can be counted afterwards.

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [effects] = process.argv.slice(2);

for await (const line of createInterface({ input: process.stdin })) {
  const { envelope } = JSON.parse(line);
  if (envelope) void run(envelope);
}

async function run({ trace: { span_id }, input }) {
  const { id, ms = 0 } = input.arguments;
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  appendFileSync(effects, `${id}\n`);
  console.log(JSON.stringify({ type: 'final', span_id, data: { answer: id, data: { id } } }));
}
