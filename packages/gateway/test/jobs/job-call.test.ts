import { expect, it } from 'vitest';
import { fromStored, toStored } from '../../src/jobs/job-call.ts';

const request = {
  agent_id: 'percy',
  capability: 'reason',
  task: 'think',
  arguments: { agent_id: 'not a name of the request' },
  context: {},
  attachments: [],
  stream: true,
  format: 'text',
  timeout_ms: 1,
  deadline_ms: 2,
  session_id: 's',
  idempotency_key: 'k',
  conversation_id: 'c',
} as const;

it('stores a request under the names that gateways of other versions read', () => {
  const { capability, task, arguments: given, context, attachments, stream, format } = request;
  const stored = toStored({ ...request, attachments: [] });
  expect(stored).toEqual({
    ...{ capability, task, arguments: given, context, attachments, stream, format },
    agentId: 'percy',
    timeoutMs: 1,
    deadlineMs: 2,
    sessionId: 's',
    idempotencyKey: 'k',
    conversationId: 'c',
  });
  expect(fromStored(stored)).toEqual(request);
});
