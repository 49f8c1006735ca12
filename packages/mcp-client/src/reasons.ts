import { reasonTable } from '@starloom/core';

const SEE_AGENT_LOG = 'see the log of the agent';
const CHECK_URI = 'check endpoint.uri of the agent';
const USE_MCP = 'point the manifest at an MCP server';
const REGISTER = 'register the gateway there, and set oauth.client_id in endpoint.options';
const UNSENT = { sent: false } as const;

/** Why there is no token. Nothing of a call was sent. */
function noToken<const Message extends string>(message: Message, fix: string) {
  return { code: 'AUTH_DENIED', message, fix, details: UNSENT } as const;
}

export const failure = reasonTable({
  backoff: {
    code: 'AGENT_OFFLINE',
    message: 'The agent keeps failing to start',
    fix: SEE_AGENT_LOG,
    details: UNSENT,
  },
  bad_header: {
    code: 'BAD_INPUT',
    message: 'A header of the endpoint cannot be sent',
    fix: 'correct endpoint.headers',
  },
  closed: { code: 'AGENT_OFFLINE', message: 'The connection to the agent was closed' },
  connect_timeout: {
    code: 'AGENT_OFFLINE',
    message: 'The agent was not ready within {timeout_ms} ms',
    fix: 'see the log of the agent, or raise options.connect_timeout_ms of the endpoint',
  },
  connection_lost: { code: 'AGENT_OFFLINE', message: 'The agent went away', fix: SEE_AGENT_LOG },
  handshake: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent and the gateway found no common protocol',
    fix: USE_MCP,
    details: UNSENT,
  },
  process_ended: {
    code: 'AGENT_OFFLINE',
    message: 'The agent process ended',
    fix: 'see what the agent wrote',
  },
  stdin_full: {
    code: 'AGENT_OFFLINE',
    message: 'The agent does not read its input',
    fix: 'see what the agent is doing',
  },
  unknown_session: {
    code: 'AGENT_OFFLINE',
    message: 'The agent has forgotten the session',
    details: UNSENT,
  },

  answer_too_large: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent sent an answer over the size limit',
    fix: 'ask for less, or raise options.result_bytes of the endpoint',
  },
  endless_list: {
    code: 'UPSTREAM_ERROR',
    message: 'The list of tools of the agent has no end',
    fix: 'list less',
  },
  list_timeout: { code: 'TIMEOUT', message: 'The agent did not list its tools in time' },
  no_answer: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent ended the stream without an answer',
    fix: SEE_AGENT_LOG,
  },
  no_subscriptions: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent does not report changed resources',
    details: UNSENT,
  },
  not_json: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent sent something that is not JSON',
    fix: USE_MCP,
  },
  not_json_rpc: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent sent JSON that is not JSON-RPC',
    fix: USE_MCP,
  },
  not_mcp: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent does not serve MCP at this address',
    fix: CHECK_URI,
  },
  'not_mcp/media_type': {
    code: 'UPSTREAM_ERROR',
    message: 'The agent answered with another media type',
    fix: CHECK_URI,
  },

  header_mismatch: { code: 'UPSTREAM_ERROR', message: 'The agent says headers and body disagree' },
  missing_client_capability: {
    code: 'BAD_INPUT',
    message: 'The agent needs a client capability that was not declared',
  },
  unknown_tool: {
    code: 'CAPABILITY_NOT_FOUND',
    message: 'The agent does not have this tool',
    fix: 'see what the agent lists',
  },
  unsupported_version: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent speaks another protocol version than agreed on',
  },

  assertion_expired: noToken(
    'The assertion that stands for the gateway has expired',
    'have it replaced before it expires',
  ),
  assertion_invalid: noToken(
    'The assertion that stands for the gateway is not a JWT',
    'correct oauth.assertion_file',
  ),
  assertion_missing: noToken(
    'The assertion that stands for the gateway cannot be read',
    'correct oauth.assertion_file, and let the gateway read that file',
  ),
  authorization_server: {
    code: 'UPSTREAM_ERROR',
    message: 'The authorization server did not answer properly',
    fix: 'see the log of that server',
    details: UNSENT,
  },
  'authorization_server/untrusted': noToken(
    'The authorization server cannot be trusted',
    'check oauth.issuer in endpoint.options of the agent',
  ),
  authorization_server_away: {
    code: 'AGENT_OFFLINE',
    message: 'The authorization server of the agent is unreachable',
    fix: 'start the authorization server, or correct oauth.issuer in endpoint.options',
    details: UNSENT,
  },
  bad_grant: {
    code: 'UPSTREAM_ERROR',
    message: 'The identity provider gave no authorization grant',
    fix: 'check oauth.idp_token_endpoint; the provider must support ID-JAG',
    details: UNSENT,
  },
  bad_options: {
    code: 'BAD_INPUT',
    message: 'Agent "{agent_id}" has wrong endpoint options',
    fix: 'correct its manifest',
  },
  bad_token: {
    code: 'UPSTREAM_ERROR',
    message: 'The authorization server gave a token of another kind',
    fix: 'let it give bearer tokens',
    details: UNSENT,
  },
  'bad_token/unbound': {
    code: 'UPSTREAM_ERROR',
    message: 'The authorization server gave a token of another kind',
    fix: 'let it bind tokens to keys (DPoP), or remove oauth.dpop',
    details: UNSENT,
  },
  foreign_issuer: noToken(
    'The agent names an authorization server that is not trusted',
    'set oauth.issuer in endpoint.options if you trust it',
  ),
  insecure_endpoint: noToken(
    'The authorization server uses no encryption',
    'use an authorization server with https',
  ),
  login_needed: {
    code: 'AUTH_DENIED',
    message: 'No person has logged in to this agent yet',
    details: UNSENT,
  },
  login_over: noToken('The login to this agent has ended', 'log in again'),
  login_refused: noToken(
    'The authorization server did not agree to the login',
    'log in again, and agree on the page of the server',
  ),
  metadata_origin: noToken('The agent names metadata on another origin', CHECK_URI),
  no_authorization_server: {
    code: 'UPSTREAM_ERROR',
    message: 'There is no authorization server at its address',
    fix: 'set oauth.issuer in endpoint.options of the agent',
    details: UNSENT,
  },
  no_client: noToken('The authorization server registers no clients by itself', REGISTER),
  no_pkce: noToken(
    'The authorization server does not offer PKCE with S256',
    'use another authorization server',
  ),
  registration_refused: noToken(
    'The authorization server refused to register the gateway',
    REGISTER,
  ),
  resource_mismatch: noToken('The metadata of the agent is about another resource', CHECK_URI),
  token_refused: noToken(
    'The authorization server gave no token',
    'check oauth in endpoint.options of the agent',
  ),
});
