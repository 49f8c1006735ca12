// An agent in one file: an envelope is a line in, events are lines out (docs/agents-of-every-protocol.md).

import { createInterface } from 'node:readline';

for await (const line of createInterface({ input: process.stdin })) {
  const { envelope } = JSON.parse(line);
  if (!envelope) continue;
  const { span_id } = envelope.trace;
  const answer = envelope.input?.task ?? '';
  console.log(JSON.stringify({ type: 'final', span_id, data: { answer } }));
}
