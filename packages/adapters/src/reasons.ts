import { reasonTable, rowsOf } from '@starloom/core';

const SEE_UPSTREAM = 'see details.upstream';
const SEE_AGENT_LOG = 'see the log of the agent';
const SEE_STDERR = 'see what the agent wrote to stderr';
const CALL_AGAIN = 'make the call again';
const WITHOUT_CONVERSATION = 'call without conversation_id';

const UNSENT = { sent: false };

/** The agent did something wrong. */
const fault = rowsOf('UPSTREAM_ERROR');
/** The agent, or what leads to it, is set up wrong. */
const setup = rowsOf('BAD_INPUT');
/** The call cannot be sent as it is. */
const refusal = rowsOf('BAD_INPUT', UNSENT);
const offline = rowsOf('AGENT_OFFLINE');
const unstarted = rowsOf('AGENT_OFFLINE', UNSENT);
const unknown = rowsOf('CAPABILITY_NOT_FOUND', UNSENT);
const unserved = rowsOf('CAPABILITY_NOT_FOUND');
const unisolated = rowsOf('POLICY_DENIED', UNSENT);
const denied = rowsOf('POLICY_DENIED');
const rejected = rowsOf('AUTH_DENIED');

const UNREACHABLE_SETUP = 'Agent "{agent_id}" cannot be reached as it is set up';
const BAD_ENDPOINT = 'Agent "{agent_id}" has an endpoint that cannot be used';
const NO_ADAPTER = '"{protocol}" does not bring an adapter';

export const failure = reasonTable({
  bad_header: setup(BAD_ENDPOINT, 'correct or remove the header "{header}"'),
  bad_options: setup('Agent "{agent_id}" has wrong endpoint options', 'correct its manifest'),
  'bad_options/bubblewrap': setup(
    'Only bubblewrap knows writable, hidden and network',
    'leave "user" out, or these three',
  ),
  'bad_options/no_root': setup('Agent "{agent_id}" has a terminal and no root', 'set options.root'),
  bad_package: setup(NO_ADAPTER, 'correct its package.json, which leads to no module'),
  bad_transport: setup('An MCP agent is reached over http or stdio', 'correct endpoint.transport'),
  bad_uri: setup(BAD_ENDPOINT, 'set endpoint.uri to an http or https address'),
  import_failed: setup(NO_ADAPTER, 'see in the log why it cannot be loaded'),
  no_command: setup('Agent "{agent_id}" names no program to run', 'set endpoint.command'),
  no_factory: setup(NO_ADAPTER, 'export a function createAdapter from it'),
  no_login: setup(
    'No person logs in to agent "{agent_id}"',
    'set oauth.grant to authorization_code in its endpoint.options',
  ),
  no_rfc_password: setup(UNREACHABLE_SETUP, 'set RFC_PASSWORD in endpoint.env'),
  not_an_adapter: setup(
    NO_ADAPTER,
    'let createAdapter return an object with call, health, describe and close',
  ),
  pooled_preset: setup(
    'Agent "{agent_id}" cannot be pooled',
    'leave "pooled" out: each call of a preset is a process of its own',
  ),
  rfc_not_private: setup(UNREACHABLE_SETUP, 'use https, or an address of this machine'),
  server_needed: setup(
    'The OpenAPI document {problem}: say where calls go',
    'add --server {address}, if calls and credentials may go there',
  ),
  token_in_uri: setup(
    UNREACHABLE_SETUP,
    'set endpoint.uri to the address without "/t-…", and the header X-API-KEY',
  ),
  unknown_protocol: setup(
    'No adapter speaks "{protocol}"',
    'use a known protocol, or install the package of that name into your project',
  ),
  uri_credentials: setup(BAD_ENDPOINT, 'give credentials in endpoint.headers'),

  attachments: refusal(
    'The agent does not take these attachments',
    'call without attachments, or put their text into the task',
  ),
  attachments_unsupported: refusal(
    'The agent takes no attachments with this capability',
    'call without attachments, or put what it needs into the task',
  ),
  'attachments_unsupported/form': refusal(
    'This interface takes attachments with {takes} alone',
    'set options.lane of the agent to http for files, to mcp or a2a for addresses',
  ),
  'attachments_unsupported/type': refusal(
    'The agent takes no attachment of type {media_type}',
    'give its address as "uri", or put it into the task',
  ),
  bad_argument: refusal('The argument "{argument}" {problem}', 'correct the arguments'),
  empty_prompt: refusal('The prompt is empty', 'say in "task" what the agent should do'),
  no_request: refusal(
    'The manifest has no request for "{capability}"',
    'add options.request to the manifest',
  ),
  unknown_capability: unknown(
    'No capability "{capability}"',
    'call a capability of the manifest, or add it there',
  ),
  unknown_conversation: refusal('The agent does not know this conversation', WITHOUT_CONVERSATION),
  'unknown_conversation/chat': setup('Agent Zero no longer has this chat', WITHOUT_CONVERSATION),

  backing_off: unstarted('The agent keeps dying and is not started yet', SEE_STDERR),
  closed: offline('The adapter of the agent is closed', 'open an adapter for the agent again'),
  input_full: {
    code: 'OVERLOADED',
    message: 'The agent does not read its input',
    fix: 'try again later',
    details: { sent: false },
  },
  interrupted: unstarted(
    'The process that held the conversation is not here',
    'start a new conversation',
  ),
  other_gateway: unstarted(
    'The process that held the conversation is not here',
    'call the gateway that began the conversation',
  ),
  process_ended: offline('The process of the agent ended', SEE_STDERR),
  start_timeout: offline(
    'The agent did not get ready in time',
    'see what it wrote to stderr, or raise start_timeout_ms',
  ),

  isolation_missing: unisolated(
    'The program must be isolated, and bubblewrap is missing',
    'install bubblewrap and allow user namespaces, or change "isolation" of the agent',
  ),
  'isolation_missing/user': unisolated(
    'The program must run as the user "{user}", and cannot',
    'create the user and run the gateway as root, or leave options.user out',
  ),
  agent_denied: rejected(
    'Agent Zero did not accept the RFC password',
    'check RFC_PASSWORD in endpoint.env',
  ),
  'agent_denied/login': rejected(
    'The agent wants a login',
    'log in with the program of the agent, or set endpoint.env and options.auth_method',
  ),

  'no_interface/agent_zero': unknown(
    'Agent Zero serves no interface that is known here',
    'check endpoint.uri and X-API-KEY, and turn on MCP or A2A in the settings of the agent',
  ),
  not_found: unserved('The agent is unknown to its server', 'see which agents the server lists'),
  'not_found/interface': unserved(
    'The agent does not serve its HTTP interface',
    'check endpoint.uri, and options.lane of the agent',
  ),
  'not_found/resource': setup('The agent does not have what the call names', SEE_UPSTREAM),
  not_listed: unknown('The function "{capability}" is not listed', 'add it to options.functions'),
  unknown_tool: unknown('The agent has no tool "{tool}"', 'see what the agent lists'),

  answer_lost: fault('The answer did not reach the run', CALL_AGAIN),
  bad_answer: fault('The answer of the agent is malformed', SEE_AGENT_LOG),
  bad_document: fault('The OpenAPI document {problem}', 'check the document with a linter'),
  bad_event: fault(
    'The agent sent a malformed {type}',
    'send events as the agent contract writes them',
  ),
  bad_result: fault(
    'The agent answered with something else than a result',
    'answer with an object that has "answer", and data and citations if any',
  ),
  'bad_result/agents': fault(
    'The server does not list its agents',
    'check that endpoint.uri is the address of the server',
  ),
  'bad_result/agent_zero': fault(
    'Agent Zero answered in an unknown form',
    'check the version of the agent',
  ),
  'bad_result/pointer': fault('The agent answered without a result', 'correct its manifest'),
  'bad_result/profile': fault(
    'The agent does not answer as its profile says: {problem}',
    'check endpoint.uri and options.profile of the agent',
  ),
  'bad_result/value': fault('The agent sent a value that cannot be used', SEE_AGENT_LOG),
  content_type: fault(
    'The agent answered in a form that was not asked for',
    'answer application/json or text/event-stream, not compressed',
  ),
  'invalid_json/line': fault(
    'The agent wrote a line that is not of its protocol',
    'write one JSON object per line to stdout, and logs to stderr',
  ),
  no_final: fault('The agent ended its answer without an end', SEE_AGENT_LOG),
  'no_final/offline': offline('The process of the agent ended', SEE_STDERR),
  no_span_id: fault(
    'The agent did not say which call an event is of',
    'a pooled agent puts span_id on every line',
  ),
  not_awaiting: fault('The run does not take the answer', CALL_AGAIN),
  other_origin: fault(
    'The agent gave an address that is not its own',
    'use an agent that answers at its own address',
  ),
  output_too_large: fault(
    'The agent wrote too much',
    'answer with less, or raise max_output_bytes',
  ),
  protocol_version: fault(
    'The agent speaks version {version} of its protocol',
    'use an agent that speaks version {spoken}',
  ),
  redirect: fault(
    'The agent answered with a redirect, and redirects are not followed',
    'set endpoint.uri to where the agent really is',
  ),
  server_error: fault(
    'The server of the agent reported an error',
    'see details.upstream and the log of the agent',
  ),
  too_many_questions: fault('The agent asks again and again', SEE_AGENT_LOG),
  too_many_requests: fault('The agent asked too much at once', SEE_AGENT_LOG),
  tool_error: fault('The agent answered with an error', SEE_UPSTREAM),
  'tool_error/cut_off': fault('The answer of the model {problem}', SEE_UPSTREAM),
  'tool_error/ended': fault('The task of the agent ended as {state}', SEE_UPSTREAM),
  'tool_error/incomplete': fault('The response of the model is incomplete', SEE_UPSTREAM),
  'tool_error/refused': fault('The agent refused the request', 'ask for something else'),
  'tool_error/run': fault('The run of the agent failed', SEE_UPSTREAM),
  'tool_error/stopped': fault('The agent {problem}', 'go on in the same conversation'),
  'tool_error/zero': fault('Agent Zero answered with an error', SEE_UPSTREAM),
  'tool_error/cancelled': fault(
    'The run was cancelled at the agent',
    'call again if it is still wanted',
  ),
  unknown_run: fault('The agent no longer knows the run', CALL_AGAIN),
  unsupported_result: fault('The agent answered with something other than a result', SEE_AGENT_LOG),
  wrong_run: fault('The agent answered with another run', SEE_AGENT_LOG),
  wrong_task: fault('The agent answered with another task', SEE_AGENT_LOG),

  input_required: {
    code: 'INPUT_REQUIRED',
    message: 'The agent asks, and the caller cannot be asked',
  },
  max_polls: {
    code: 'TIMEOUT',
    message: 'The agent did not finish within the polls it has',
    fix: 'raise poll.max_polls',
  },
  span_in_use: {
    code: 'INTERNAL',
    message: 'Two calls have the same span',
    fix: 'make a span per attempt',
    details: { sent: false },
  },

  content_too_large: denied('The content is too large'),
  no_root: denied('The manifest of the agent names no root'),
  read_only: denied('The agent may only read files'),
  terminal_denied: denied('The agent may not run programs here'),
  too_many_terminals: setup('Too many terminals are open'),
});
