import { reasonTable, rowsOf } from '@starloom/core';

const SEE_UPSTREAM = 'see details.upstream';
const SEE_AGENT_LOG = 'see the log of the agent';
const CHECK_CARD_URI = 'set the address of the agent, or of its card';
const UNSENT = { sent: false };

/** The agent did something wrong. */
const fault = rowsOf('UPSTREAM_ERROR');
const offline = rowsOf('AGENT_OFFLINE');
const unreachable = rowsOf('AGENT_OFFLINE', UNSENT);
/** The call cannot be sent as it is. */
const refusal = rowsOf('BAD_INPUT', UNSENT);
const badInput = rowsOf('BAD_INPUT');
const unknown = rowsOf('CAPABILITY_NOT_FOUND', UNSENT);
const unsupported = rowsOf('CAPABILITY_NOT_FOUND');
const overloaded = rowsOf('OVERLOADED');

export const failure = reasonTable({
  // What a client of an agent meets.
  'bad_options/origin': badInput(
    'An entry of "origins" is no origin',
    'write https://host, http://host:port, grpc://host:port or grpcs://host:port',
  ),
  card_points_elsewhere: {
    code: 'POLICY_DENIED',
    message: 'The agent card points to another origin',
    fix: 'name the origin in "origins" of the agent, or the right address in its "url"',
    details: UNSENT,
  },
  card_signature: {
    code: 'AUTH_DENIED',
    message: 'The agent card is not signed with a pinned key',
    fix: 'let the agent sign its card, or correct "card_keys" of the agent',
    details: UNSENT,
  },
  empty_message: refusal(
    'The call has nothing to say to the agent',
    'give a task, arguments or attachments',
  ),
  unknown_capability: unknown('No capability "{capability}"', 'call a skill of the agent card'),
  no_interface: unknown(
    'The agent card names no interface that is spoken here',
    'let the agent serve A2A 1.0 or 0.3 over JSON-RPC, REST or gRPC',
  ),
  closed: offline('The connection to the agent is closed', 'open one again'),
  connection_lost: offline('The agent stopped answering', SEE_AGENT_LOG),
  unreachable: unreachable(
    'The agent cannot be reached',
    'start the agent, or correct its address',
  ),
  unknown_host: unreachable('The agent cannot be reached', 'check the address in the agent card'),
  bad_answer: fault('The answer of the agent is malformed', SEE_AGENT_LOG),
  'bad_answer/a2a': fault('The agent does not answer as A2A says: {problem}', SEE_AGENT_LOG),
  bad_card: fault('The agent has no valid agent card at this address', CHECK_CARD_URI),
  no_card: {
    ...fault('The agent has no agent card at this address', CHECK_CARD_URI),
    details: UNSENT,
  },
  no_final: fault('The agent ended its answer without an end', SEE_AGENT_LOG),
  not_cancelable: fault('The agent does not cancel the task', SEE_UPSTREAM),
  result_too_large: fault(
    'The agent sent an answer over the size limit',
    'answer with less, or raise max_result_bytes',
  ),
  stream_too_large: fault(
    'The agent streamed more than it may',
    'answer with less, or raise max_stream_bytes',
  ),
  task_lost: fault('The agent lost the task', SEE_UPSTREAM),
  'tool_error/ended': fault('The task of the agent ended as {state}', SEE_UPSTREAM),
  unknown_task: badInput('The agent does not know the task any more', 'make the call again'),
  wrong_task: fault('The agent answered with another task', SEE_AGENT_LOG),
  'content_type/unsupported': unsupported(
    'The agent does not take this type of content',
    SEE_UPSTREAM,
  ),
  extension_required: unsupported(
    'The agent needs an extension that is not supported',
    SEE_UPSTREAM,
  ),
  unsupported: unsupported('The agent does not support this operation', SEE_UPSTREAM),
  unsupported_version: unsupported('The agent does not support this version of A2A', SEE_UPSTREAM),
  input_required: {
    code: 'INPUT_REQUIRED',
    message: 'The agent asks, and the caller cannot be asked',
  },
  question_cancelled: { code: 'CANCELLED', message: 'The question of the agent was cancelled' },

  // What a server says of requests and tasks.
  'not_json/empty': {
    code: 'BAD_INPUT',
    message: 'The body is empty',
    details: { rpc_code: -32_700 },
  },
  data_part: badInput('A data part must be an object', 'send the arguments as one JSON object'),
  bad_url: badInput('The url of a part is not a URL'),
  webhook: badInput(
    'The configuration of the webhook is too long',
    'use a shorter url, token and id',
  ),
  too_many_webhooks: overloaded('There are too many tasks with webhooks'),
  'too_many_webhooks/task': overloaded('A task has at most {limit} webhooks'),
  engine_busy: overloaded('The task changes too fast', 'Try again'),
});
