// Why the gateway refuses or fails, beside what identity, jobs, coordination and the adapters say.

import { reasonTable } from '@starloom/core';

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const HEADER_MISMATCH = -32_020;

export const failure = reasonTable({
  // Requests over HTTP, before they are read.
  target: {
    code: 'BAD_INPUT',
    message: 'The request target is not a plain path',
    fix: 'ask for a path such as /mcp, without "..", "//" or a host',
  },
  host: { code: 'BAD_INPUT', message: 'The request must have exactly one Host header' },
  method_not_allowed: {
    code: 'BAD_INPUT',
    message: 'The method is not allowed here',
    fix: 'Use {allow}',
    details: { http_status: 405 },
  },
  'method_not_allowed/anywhere': {
    code: 'BAD_INPUT',
    message: 'The method {method} is not served',
    details: { http_status: 405 },
  },
  not_found: {
    code: 'BAD_INPUT',
    message: 'There is nothing at {path}',
    fix: 'MCP is at /mcp',
    details: { http_status: 404 },
  },
  'not_found/webhook': {
    code: 'BAD_INPUT',
    message: 'There is no such webhook',
    details: { http_status: 404 },
  },
  'not_found/agent': {
    code: 'BAD_INPUT',
    message: 'There is no such agent',
    fix: 'see /.well-known/agent-card.json',
    details: { http_status: 404 },
  },
  'not_found/key': {
    code: 'BAD_INPUT',
    message: 'There is no such key in the state folder',
    details: { http_status: 404 },
  },
  'not_found/trace': {
    code: 'BAD_INPUT',
    message: 'No call of this trace is known',
    fix: 'the journal keeps the newest calls alone: see journal.calls',
    details: { http_status: 404 },
  },
  'not_found/session': {
    code: 'BAD_INPUT',
    message: 'There is no such session',
    details: { http_status: 404 },
  },
  content_type: {
    code: 'BAD_INPUT',
    message: 'The content type must be application/json',
    details: { http_status: 415 },
  },
  content_encoding: {
    code: 'BAD_INPUT',
    message: 'The body must not be compressed',
    details: { http_status: 415 },
  },
  body_too_large: {
    code: 'BAD_INPUT',
    message: 'The body is larger than {limit} bytes',
    fix: 'raise limits.body_bytes',
    details: { http_status: 413 },
  },
  not_http: { code: 'BAD_INPUT', message: 'This is not a request in HTTP/1.1' },
  request_timeout: { code: 'BAD_INPUT', message: 'The request did not come in time' },
  not_acceptable: {
    code: 'BAD_INPUT',
    message: 'The client must accept {types}',
    fix: 'Send "Accept: {types}"',
    details: { http_status: 406 },
  },

  // The console.
  console_session: {
    code: 'AUTH_DENIED',
    message: 'There is no session, or it has ended',
    fix: 'open the link that "starloom console" prints',
  },
  console_sign_in: {
    code: 'AUTH_DENIED',
    message: 'A session needs a code or a credential',
    fix: 'open the link that "starloom console" prints',
  },
  console_code: {
    code: 'AUTH_DENIED',
    message: 'The code was used, is older than ten minutes, or is wrong',
    fix: 'run "starloom console" for another one',
  },
  console_credential: {
    code: 'POLICY_DENIED',
    message: 'A credential of this kind ({mode}) opens no session',
    fix: 'sign in with a shared key, a passport or an access token',
  },
  console_token: {
    code: 'POLICY_DENIED',
    message: 'The request lacks the token of its session',
    fix: 'send X-Starloom-Csrf as the session gave it, or sign in again',
  },
  console_page: {
    code: 'POLICY_DENIED',
    message: 'The request comes from another page',
    fix: 'open /console/ at the address of the gateway itself',
  },
  console_not_built: {
    code: 'BAD_INPUT',
    message: 'The page of the console is not built',
    fix: 'run "node --conditions=@starloom/source scripts/build-console.ts" in the checkout',
    details: { http_status: 503 },
  },
  console_input: { code: 'BAD_INPUT', message: 'Wrong input for {what}: {problem}' },
  console_scope: {
    code: 'POLICY_DENIED',
    message: 'This needs the scope {scope}',
    fix: 'sign in with a key that has it',
  },
  'console_scope/job': {
    code: 'POLICY_DENIED',
    message: 'What a job answered is for its owner alone',
  },
  console_wider: {
    code: 'POLICY_DENIED',
    message: 'A key cannot have {what}, which its maker does not have',
    fix: 'ask an operator, or narrow the key',
  },
  console_tool: {
    code: 'POLICY_DENIED',
    message: 'This credential may not use {tool}',
    fix: 'sign in with a key whose scopes allow it',
  },
  console_endpoint: {
    code: 'BAD_INPUT',
    message: 'An agent has either a uri or a command',
    fix: 'give one of them',
  },
  console_no_lease: {
    code: 'BAD_INPUT',
    message: 'No instance of {agent_id} came by itself, so none can be drained',
    fix: 'remove the agent instead',
  },
  console_streams: {
    code: 'OVERLOADED',
    message: 'More than {limit} tabs listen with this session',
    fix: 'close some of them',
  },
  'console_oauth/state': {
    code: 'AUTH_DENIED',
    message: 'This browser began no such sign-in, or it took longer than ten minutes',
    fix: 'sign in again',
  },
  'console_oauth/issuer': {
    code: 'UPSTREAM_ERROR',
    message: 'The issuer {issuer} does not say where people sign in',
    fix: 'check that its metadata can be read from the gateway',
  },
  'console_oauth/token': {
    code: 'AUTH_DENIED',
    message: 'The issuer {issuer} gave no token',
    fix: 'check console.client_id and the redirect address that is registered there',
  },
  console_issuer: {
    code: 'BAD_INPUT',
    message: 'No issuer of that name signs people in here',
    fix: 'set console.client_id and auth.oauth in starloom.yaml',
  },

  client_gone: { code: 'CANCELLED', message: 'The client left' },

  // Nodes that serve agents over a connection to this gateway.
  no_link: {
    code: 'AGENT_OFFLINE',
    message: 'Node "{node_id}" is not connected to this gateway',
    fix: 'start "starloom node" there with the address of this gateway',
    details: { sent: false },
  },
  node_taken: {
    code: 'BAD_INPUT',
    message: 'The node id "{node_id}" is in use',
    fix: 'start the node with another --id, or end the node that uses it',
  },
  node_replaced: {
    code: 'AGENT_OFFLINE',
    message: 'Node "{node_id}" connected again',
    fix: 'call again',
  },
  node_hello: {
    code: 'BAD_INPUT',
    message: 'The first message of a node must be a valid hello: {problem}',
    fix: 'run the same version on the node and on the gateway',
  },
  node_request: {
    code: 'BAD_INPUT',
    message: 'The request "{method}" of the node is not known, or is malformed',
    fix: 'run the same version on the node and on the gateway',
  },
  node_answer: {
    code: 'UPSTREAM_ERROR',
    message: 'Node "{node_id}" sent {what} that cannot be used',
    fix: 'run the same version on the node and on the gateway',
  },
  cancelled: { code: 'CANCELLED', message: 'The caller cancelled the call' },

  // Messages, over any transport.
  invalid_utf8: {
    code: 'BAD_INPUT',
    message: 'The message is not valid UTF-8',
    details: { rpc_code: PARSE_ERROR },
  },
  line_too_long: {
    code: 'BAD_INPUT',
    message: 'The line is larger than {limit} bytes',
    fix: 'raise limits.body_bytes',
    details: { rpc_code: INVALID_REQUEST },
  },
  not_json: {
    code: 'BAD_INPUT',
    message: 'The message is not JSON',
    details: { rpc_code: PARSE_ERROR },
  },
  'not_json/number': {
    code: 'BAD_INPUT',
    message: 'A number is beyond the range of a double',
    details: { rpc_code: PARSE_ERROR },
  },
  header_mismatch: {
    code: 'BAD_INPUT',
    message: 'The header {header} does not say what the arguments say',
    fix: 'mirror the argument in the header, as the input schema of the tool asks',
    details: { rpc_code: HEADER_MISMATCH },
  },
  'header_mismatch/task': {
    code: 'BAD_INPUT',
    message: 'The header Mcp-Name does not name the task',
    fix: 'Send the task id in the header Mcp-Name',
    details: { rpc_code: HEADER_MISMATCH, header: 'mcp-name' },
  },
  'header_mismatch/revision': {
    code: 'BAD_INPUT',
    message: 'The request is of revision {named}, the session of {agreed}',
    fix: 'Send the revision that initialize answered as MCP-Protocol-Version',
    details: { rpc_code: HEADER_MISMATCH },
  },

  // What a caller, or all of them, may hold at once.
  shutting_down: {
    code: 'OVERLOADED',
    message: 'The gateway is shutting down',
    fix: 'try again in a moment, or another gateway',
  },
  'shutting_down/waiting': {
    code: 'CANCELLED',
    message: 'The gateway is shutting down',
    fix: 'ask again in a moment, or another gateway; a write may have been done nevertheless: repeat it with its idempotency_key',
  },
  bodies_in_progress: {
    code: 'OVERLOADED',
    message: 'Too many request bodies are being sent at once',
    fix: 'send fewer at a time',
    details: { retry_after_ms: 1_000 },
  },
  bytes_per_principal: {
    code: 'OVERLOADED',
    message: 'Too much is held in memory for this caller',
    fix: 'read your answers, send less at a time, or raise limits.bytes_per_principal',
    details: { retry_after_ms: 1_000 },
  },
  sockets_per_principal: {
    code: 'OVERLOADED',
    message: 'This caller has {limit} WebSockets and streams open',
    fix: 'close some, or raise limits.sockets_per_principal',
    details: { retry_after_ms: 1_000 },
  },
  too_many_requests: {
    code: 'OVERLOADED',
    message: 'Too many requests of this connection are not answered',
    fix: 'ask again when some of them are answered',
  },
  too_many_subscriptions: {
    code: 'OVERLOADED',
    message: 'Too many clients listen at once',
    fix: 'try again later',
  },
  too_many_sessions: {
    code: 'OVERLOADED',
    message: 'Too many sessions are in use',
    fix: 'Try again later',
  },
  'too_many_sessions/own': {
    code: 'RATE_LIMITED',
    message: 'This principal has too many sessions in use',
    fix: 'End sessions by DELETE, or close their streams',
    details: { retry_after_ms: 1_000 },
  },
  too_many_tasks: {
    code: 'OVERLOADED',
    message: 'The gateway keeps as many open tasks as it may',
    fix: 'finish or cancel tasks, or turn on jobs',
  },
  quota: {
    code: 'RATE_LIMITED',
    message: 'Too many requests of this connection wait already',
    fix: 'it was not done: ask again when some of them are answered, or without wait_ms',
    details: { limit: 'waiting_per_connection' },
  },
  notices: { code: 'RATE_LIMITED', message: 'The agent sends notices too often' },
  slow_reader: {
    code: 'OVERLOADED',
    message: 'The reader took no event for too long and was cut off',
    fix: 'read the stream as it comes',
  },
  calls_per_principal: {
    code: 'OVERLOADED',
    message: 'This caller has {limit} calls in flight',
    fix: 'call again later, or raise limits.calls_per_principal',
    details: { sent: false },
  },
  calls_per_agent: {
    code: 'OVERLOADED',
    message: 'Agent "{agent_id}" has {limit} calls in flight',
    fix: 'call again later, or raise limits.calls_per_agent',
    details: { sent: false },
  },
  rate_per_principal: {
    code: 'RATE_LIMITED',
    message: 'This caller calls more often than {limit} times in {window_s} s',
    fix: 'call again after retry_after_ms, or raise limits.rate_per_principal',
    details: { sent: false },
  },
  rpc_rate_per_principal: {
    code: 'RATE_LIMITED',
    message: 'This caller calls more often than {limit} times in {window_s} s',
    fix: 'call again after retry_after_ms, or raise limits.rpc_rate_per_principal',
    details: { sent: false },
  },
  rate_per_agent: {
    code: 'RATE_LIMITED',
    message: 'Agent "{agent_id}" is called more often than {limit} times in {window_s} s',
    fix: 'call again after retry_after_ms, or raise limits.rate_per_agent',
    details: { sent: false },
  },
  cost_per_principal: {
    code: 'RATE_LIMITED',
    message: 'The budget of {limit} units a day is spent',
    fix: 'call again tomorrow (UTC), or raise limits.cost_per_principal',
    details: { sent: false },
  },

  // Sessions of older MCP clients.
  unknown_session: {
    code: 'BAD_INPUT',
    message: 'There is no such session',
    fix: 'Send initialize without Mcp-Session-Id to begin another session',
    details: { http_status: 404 },
  },
  initialized: {
    code: 'BAD_INPUT',
    message: 'The session is initialized already',
    fix: 'Send initialize without Mcp-Session-Id to begin another session',
    details: { rpc_code: INVALID_REQUEST },
  },
  batch: {
    code: 'BAD_INPUT',
    message: 'Revision {revision} has no batches',
    fix: 'Send each message by a POST of its own',
    details: { rpc_code: INVALID_REQUEST },
  },
  duplicate_id: {
    code: 'BAD_INPUT',
    message: 'A request with the same id is open in this session',
    fix: 'Give each request of a session an id of its own',
  },
  unknown_event: {
    code: 'BAD_INPUT',
    message: 'This session has no event with that id, or no longer',
    fix: 'Send the GET without Last-Event-ID, and repeat calls that were not answered',
  },

  // What is asked for by name.
  unknown_tool: {
    code: 'BAD_INPUT',
    message: 'There is no tool "{tool}"',
    fix: 'tools/list shows them',
  },
  unknown_toolset: { code: 'BAD_INPUT', message: 'There is no toolset "{toolset}"' },
  unknown_name: {
    code: 'BAD_INPUT',
    message: 'No agent has this resource or prompt',
    fix: 'use a name from resources/list or prompts/list',
  },
  'unknown_name/session': {
    code: 'BAD_INPUT',
    message: 'There is no such session for you',
    fix: 'resources/list shows the sessions you are in',
  },
  ambiguous_uri: {
    code: 'BAD_INPUT',
    message: 'Several agents have a resource with this URI',
    fix: 'read one of details.uris',
  },
  not_subscribable: {
    code: 'BAD_INPUT',
    message: 'This resource cannot be subscribed to',
    fix: 'subscribe to the context of a session',
  },
  bad_cursor: {
    code: 'BAD_INPUT',
    message: 'This cursor was given out by no page of tools/list',
    fix: 'begin again without a cursor',
  },
  'unknown_session/member': {
    code: 'BAD_INPUT',
    message: 'There is no session "{session_id}" for this caller',
    fix: 'join the session first, or call without session_id',
  },
  scope: {
    code: 'POLICY_DENIED',
    message: 'This key may not use coordination',
    fix: 'use a key with the scope toolset:coordination',
  },
  'scope/node': {
    code: 'POLICY_DENIED',
    message: 'This key may not connect a node',
    fix: 'use a key with the scope register:<agent_id>',
  },
  'scope/metrics': {
    code: 'POLICY_DENIED',
    message: 'This key may not read metrics',
    fix: 'use a key with the scope admin:metrics',
  },

  // Calls.
  unknown_agent: { code: 'CAPABILITY_NOT_FOUND', message: 'There is no agent "{agent_id}"' },
  unknown_capability: {
    code: 'CAPABILITY_NOT_FOUND',
    message: 'Agent "{agent_id}" does not offer "{capability}"',
  },
  not_offered: { code: 'CAPABILITY_NOT_FOUND', message: 'No agent offers "{capability}"' },
  offline: {
    code: 'AGENT_OFFLINE',
    message: 'Agent {agent_id} is marked offline',
    details: { sent: false },
  },
  draining: {
    code: 'AGENT_OFFLINE',
    message: 'Agent {agent_id} takes no new calls',
    details: { sent: false },
  },
  'open-circuit': {
    code: 'AGENT_OFFLINE',
    message: 'Agent {agent_id} failed too often lately',
    details: { sent: false },
  },
  changed: {
    code: 'MANIFEST_CHANGED',
    message: '"{capability}" of agent "{agent_id}" was changed by the agent after it was approved',
    fix: 'starloom agents approve {agent_id}',
    details: { sent: false },
  },
  new: {
    code: 'MANIFEST_CHANGED',
    message: '"{capability}" of agent "{agent_id}" is new and not approved yet',
    fix: 'starloom agents approve {agent_id}',
    details: { sent: false },
  },
  look_alike: {
    code: 'MANIFEST_CHANGED',
    message: '"{capability}" of agent "{agent_id}" looks like "{like}" and is not approved',
    fix: 'starloom agents approve {agent_id}',
    details: { sent: false },
  },
  rules_changed: {
    code: 'BAD_INPUT',
    message: 'Others shared rules at the same time, which hold now',
    fix: 'look at them with "starloom policy check", and share yours again',
  },
  changed_again: {
    code: 'BAD_INPUT',
    message: 'What "{agent_id}" offers changed again meanwhile',
    fix: 'run "starloom agents approve {agent_id}" again',
  },
  pins: {
    code: 'INTERNAL',
    message: 'The approval of its tools cannot be written down',
    fix: 'make the state folder writable',
  },
  bad_input_schema: {
    code: 'UPSTREAM_ERROR',
    message: 'The input schema of "{capability}" is not usable: {problem}',
    fix: 'correct the input schema of the tool at the agent',
    details: { sent: false },
  },
  no_final: { code: 'UPSTREAM_ERROR', message: 'The agent ended its answer without a result' },
  result_too_large: {
    code: 'UPSTREAM_ERROR',
    message: 'The answer is larger than {limit}',
    fix: 'raise limits.result_bytes, or ask for less',
  },
  bad_question: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent asked in a way that cannot be passed on: {problem}',
  },
  input_required: {
    code: 'INPUT_REQUIRED',
    message: 'The agent asks before it goes on',
  },
  interrupted: {
    code: 'AGENT_OFFLINE',
    message: 'The gateway restarted while the agent waited',
    fix: 'call again from the start',
  },
  other_gateway: {
    code: 'AGENT_OFFLINE',
    message: 'The agent waits for the answer at another gateway',
    fix: 'send the answer to the gateway that asked, or call again from the start',
  },
  unknown_conversation: {
    code: 'BAD_INPUT',
    message: 'There is no such conversation',
    fix: 'use the conversation_id of an earlier answer, or call without one',
  },
  no_open_question: {
    code: 'BAD_INPUT',
    message: 'No question is open for this answer',
    fix: 'call again; an answer is used once',
  },
  no_mint: {
    code: 'POLICY_DENIED',
    message: 'The agent {agent_id} wants a mandate for every call',
    fix: 'run the gateway with a state folder, where its signing keys are kept',
    details: { sent: false },
  },
  delegate: {
    code: 'BAD_INPUT',
    message: 'The request for a mandate cannot be read',
  },

  // Jobs, and messages of A2A.
  outlives_mandate: {
    code: 'POLICY_DENIED',
    message: 'The job would begin too long after its mandate',
    fix: 'name an earlier "run_at", or raise "mandates.jobs_ms" of the gateway',
  },
  too_far_ahead: {
    code: 'BAD_INPUT',
    message: 'run_at lies too far ahead',
    fix: 'Name a time before {limit}, or raise `jobs.ahead_hours`',
  },

  // The start of the gateway.
  port_busy: {
    code: 'BAD_INPUT',
    message: 'Cannot listen on {address}: the port is taken',
    fix: 'stop what runs there, or pass --port (0 picks a free one)',
  },
  cannot_listen: {
    code: 'BAD_INPUT',
    message: 'Cannot listen on {address}: {why}',
    fix: 'check listen.host',
  },
  'cannot_listen/grpc': {
    code: 'BAD_INPUT',
    message: 'Cannot listen on {address} for gRPC',
    fix: 'check a2a.grpc.port',
  },
  bad_certificate: {
    code: 'BAD_INPUT',
    message: 'listen.tls.{name} {problem}',
    fix: 'name PEM files that belong together',
  },
  unknown_trace: {
    code: 'BAD_INPUT',
    message: 'The journal knows no call of the trace {trace_id}',
    fix: 'List the calls that you may see with fabric.calls.list',
  },
  calls_of_others: {
    code: 'AUTH_DENIED',
    message: 'This key may not see what other callers did',
    fix: 'Use a key with the scope admin:{area}',
  },
});
