import { reasonTable, rowsOf } from '@starloom/core';

const badInput = rowsOf('BAD_INPUT');
const cancelled = rowsOf('CANCELLED');
const denied = rowsOf('POLICY_DENIED');
const offline = rowsOf('AGENT_OFFLINE');
const timeout = rowsOf('TIMEOUT');
const upstream = rowsOf('UPSTREAM_ERROR');
const notFound = rowsOf('BAD_INPUT', { http_status: 404 });
const unsupportedBody = rowsOf('BAD_INPUT', { http_status: 415 });
const largeBody = rowsOf('BAD_INPUT', { http_status: 413 });
const invalidRequest = rowsOf('BAD_INPUT', { rpc_code: -32_600 });
const parseError = rowsOf('BAD_INPUT', { rpc_code: -32_700 });
const NO_MODEL = '"{package}" brings no model';
const NO_REDIRECT = 'The redirect was not followed';

export const failure = reasonTable({
  // Turns and sessions
  command: badInput('{problem}', 'type /help for all commands'),
  empty_message: badInput('The message is empty', 'say something, or type /help'),
  session_id: badInput(
    'This is not a session id',
    'use 1 to 128 letters, digits, "_", "." and "-", beginning with a letter or digit',
  ),
  session_unreadable: badInput('The session {session_id} cannot be read', 'check the state folder'),
  budget: denied(
    'The turn used up its {budget}: {limit}',
    'raise limits.{budget} in agent.json, or ask for less at once',
  ),
  'budget/seconds': timeout(
    'The turn used up its {budget}: {limit}',
    'raise limits.{budget} in agent.json, or ask for less at once',
  ),
  bad_budget: badInput(
    'The budget of the task cannot be read: {problem}',
    'give steps and tokens as whole numbers, seconds and money as numbers, all above 0',
  ),
  repeated_failures: denied(
    '{failures} of the last {calls} tool calls failed: the turn was stopped',
    'see the failed calls in the session, then say what to do differently',
  ),

  // Tools
  arguments: badInput(
    'The arguments do not fit {tool}: {problem}',
    'change the arguments to fit the parameters',
  ),
  unparsable_arguments: badInput(
    'The arguments for {tool} are not a JSON object',
    'send the arguments as a JSON object',
  ),
  bad_schema: badInput(
    'The parameters of {tool} are no usable JSON Schema',
    'correct the schema of the tool',
  ),
  output_too_large: upstream('The tool returned too much data', 'ask it for less'),

  // Editors
  editor_failed: upstream(
    'The editor could not {act} {path}: {why}',
    'see the message of the editor',
  ),

  // Helpers and other agents
  no_such_helper: badInput('There is no helper or agent "{to}"', 'name one of: {known}'),
  helper_tools: denied('{to} may not use {tools}', 'leave tools out, or name some of: {has}'),
  helper_provider: badInput(
    'The helper {to} has no model in its process',
    'set provider of the helper in agent.json to one that is no plugin',
  ),
  helper_failed: upstream('The helper {to} ended without an answer', 'see details.upstream'),
  helper_asks: upstream(
    '{to} asks: {question}',
    'give the task again, with the answer to the question in it',
  ),
  no_capability: badInput(
    '{to} has several capabilities: {capabilities}',
    'name one: {to}/<capability>',
  ),

  // Models
  missing_key: badInput(
    'There is no key for {package}',
    'set {variable}, or write "api_key": "env:NAME" into provider of agent.json',
  ),
  not_found: badInput(NO_MODEL, 'run "npm install {package}" in the folder of agent.json'),
  bad_package: badInput(NO_MODEL, 'its package.json leads to no module'),
  import_failed: badInput(NO_MODEL, 'see in the log why it cannot be loaded'),
  no_factory: badInput(NO_MODEL, 'name a package of the AI SDK, or export a model from the file'),
  many_factories: badInput(NO_MODEL, 'set provider.factory to one of: {factories}'),
  no_api: badInput(NO_MODEL, 'leave provider.api out, or name one that the package has'),
  no_model: badInput(NO_MODEL, 'use a version of the package for AI SDK 6 or 7'),
  no_such_provider: badInput(
    'No plugin brings a provider "{provider}"',
    'add the plugin that brings it to plugins in agent.json',
  ),
  no_such_model: badInput('There is no model "{model}"', 'choose one of: {models}'),
  empty_prompt: badInput(
    'There is nothing to ask the model',
    'pass a prompt, or blocks of a conversation',
  ),
  unsupported: badInput(
    'The model does not take this content',
    'leave it out, or use a model that takes it',
  ),
  'unreachable/model': offline(
    'The model cannot be reached',
    'check that the service runs at the base_url of the provider',
  ),
  connection_lost: offline(
    'The connection to the model closed before its answer ended',
    'check that the service runs at the base_url of the provider',
  ),
  cut_off: offline(
    'The answer of the model ended too early',
    'see the log of the service, or of the proxy before it',
  ),
  network: offline(
    "The model's provider cannot be reached ({network})",
    'check the address and that it is running',
  ),
  silent: timeout('The model was silent for too long', 'check the load of the service'),
  answer_too_large: upstream('The answer of the model is too large', 'ask for less at once'),
  unreadable_answer: upstream(
    'The answer of the model cannot be read',
    'check that base_url leads to a service of this API',
  ),
  'unreadable_answer/provider': upstream(
    'Nothing the provider answered could be read',
    'correct the provider: its answer is an object with segments',
  ),
  threw: upstream('The model failed', 'see the log'),
  provider_failed: upstream("The model's provider failed", 'see the log for the cause'),
  script_ended: upstream(
    'The script of the model has ended',
    'add responses to provider.script in agent.json, or set provider.cycle to true',
  ),

  // Configuration
  config: badInput(
    'agent.toml: {key} names "{name}", which does not exist{more}',
    'correct the name or remove the entry',
  ),
  'config/no_agent': badInput(
    'There is no agent to open',
    'pass the path of an agent.json, or its config',
  ),
  plugin: badInput('Plugin "{plugin}" cannot be used: {why}', 'correct the plugin or its config'),
  rule_not_written: badInput(
    'The rule for {tool} could not be written to {file}',
    'add to it:\n{section}',
  ),

  // The agent as an MCP server
  no_keys: badInput(
    'Beyond this machine callers must show a key',
    'give it a key, or listen on 127.0.0.1',
  ),
  port_busy: badInput('Cannot listen on {host}:{port}: the port is taken', 'choose another port'),
  cannot_listen: badInput('Cannot listen on {host}:{port}: {why}', 'choose another address'),
  'not_found/path': notFound('There is nothing here', 'MCP is at /mcp'),
  missing: rowsOf('AUTH_DENIED')(
    'The call has no mandate',
    'set auth.mandate of the agent "{audience}" in agents.yaml, and call the gateway',
  ),
  unknown_tool: badInput('There is no tool "{tool}"', 'tools/list shows them'),
  client_gone: cancelled('The client left', 'read the task again'),
  closing: cancelled('The agent is closing', 'call again when the agent runs'),
  content_encoding: unsupportedBody('The body must not be compressed', 'send the body as it is'),
  body_too_large: largeBody('The body is larger than {limit} bytes', 'send less at once'),
  bad_body: invalidRequest(
    'The body is no JSON that is taken',
    'send plain JSON, without "__proto__"',
  ),
  not_json: parseError('The body is not JSON', 'send JSON'),
  not_a_request: invalidRequest(
    'The body is no request of JSON-RPC 2.0',
    'send jsonrpc, id, method and params',
  ),
  unknown_skill: badInput(
    'There is no skill "{skill}"',
    'name a skill of the card in metadata["io.starloom/capability"]',
  ),
  'arguments/skill': badInput(
    'The arguments of a skill are an object',
    'send a data part with "skill" and "arguments"',
  ),
  unknown_question: badInput('This question is no longer open', 'make the call again'),
  peer_asks: rowsOf('INPUT_REQUIRED')('The peer asks a question', 'answer it with peers:resume'),
  peer_deadline: timeout(
    'The peer "{peer}" did not finish within {ms} ms',
    'give it more time, or ask it for less',
  ),
  unknown_peer: badInput(
    'There is no peer "{peer}"',
    'call peers:list, or add it to [[a2a.peers]] of agent.toml',
  ),
  unknown_peer_task: badInput('There is no task "{task}" to resume', 'call peers:list'),
  skill_not_allowed: denied(
    'The skill "{skill}" of the peer "{peer}" is not allowed',
    'name an allowed skill, or add it to "skills" of the peer in agent.toml',
  ),
  no_final: upstream(
    'The peer "{peer}" ended its answer without an end',
    'see the log of the peer',
  ),
  unknown_session: badInput('There is no such session', 'leave session_id out to begin a new one'),
  resource_too_large: badInput(
    'The resource is larger than {limit} bytes',
    'expose a smaller file',
  ),

  // MCP servers that the agent uses
  unsupported_result: upstream(
    'The MCP server "{server}" asks for more input',
    'give the tool all it needs as arguments',
  ),

  // Plugins
  no_key: badInput(
    'The key {reference} of the fabric plugin is not there',
    'set the variable, or write the file',
  ),
  bad_answer: upstream(
    'The gateway answered with something else',
    'set "url" of the fabric plugin to a gateway',
  ),
  content_too_large: badInput(
    'The content is larger than {limit} bytes',
    'write less, or raise max_bytes',
  ),
  range_too_large: badInput(
    'These lines are more than {limit} bytes',
    'ask for at most {fitting} lines',
  ),
  text_not_found: badInput(
    'The text is not in the file',
    'read the file and copy the text exactly',
  ),
  text_not_unique: badInput(
    'The text stands {occurrences} times in the file',
    'give more of the text around it, or set all',
  ),
  bad_folder: badInput(
    'The folder of the git plugin is not there',
    'set "folder" to the top of a repository',
  ),
  no_repository: badInput(
    'There is no git repository here',
    'set "folder" of the git plugin to its top',
  ),
  repository_outside: denied(
    'The repository lies outside of its folder',
    'set "folder" of the git plugin to the main working tree',
  ),
  filters: denied(
    'The repository runs programs on what is committed',
    'commit in this repository by hand',
  ),
  no_author: badInput(
    'Git does not know whose commit this is',
    'set "author" of the git plugin to a name and an email',
  ),
  git_timeout: timeout(
    'git {command} took too long',
    'ask for less, or raise timeout_ms of the git plugin',
  ),
  git_failed: badInput('git {command} failed: {said}', 'correct what git complains about'),
  bad_header: badInput('This header may not be set', 'leave the header out'),
  bad_redirect: denied(NO_REDIRECT, 'the server sent an address that is none'),
  insecure_redirect: denied(NO_REDIRECT, 'call the address with https, if there is one'),
  redirected_body: denied(NO_REDIRECT, 'send the request to the address it leads to'),
  redirected_host: denied(NO_REDIRECT, 'call {address} itself, if that is what is wanted'),
  too_many_redirects: upstream(
    'The server redirects more than {redirects} times',
    'call the address it leads to',
  ),
  unreachable: upstream('The server could not be reached', 'check the address, or try again later'),
  not_text: upstream('The answer is not text', 'ask for a text document'),
  'answer_too_large/http': upstream(
    'The answer is larger than {limit} bytes',
    'ask for less, or raise max_bytes of the http plugin',
  ),
  memory_full: badInput(
    'There are {limit} notes, and no room for more',
    'forget some notes, or raise max_notes',
  ),
  unknown_note: badInput('There is no such note', 'memory:list shows the ids'),
  bad_zone: badInput('There is no such time zone', 'name one such as Europe/Vienna or UTC'),
});
