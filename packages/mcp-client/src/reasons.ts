import { reasonTable, rowsOf } from '@starloom/core';

const SEE_AGENT_LOG = 'see the log of the agent';
const CHECK_URI = 'check endpoint.uri of the agent';
const USE_MCP = 'point the manifest at an MCP server';
const REGISTER = 'register the gateway there, and set oauth.client_id in endpoint.options';
const UNSENT = { sent: false };

/** The agent, or its authorization server, did something wrong. */
const fault = rowsOf('UPSTREAM_ERROR');
/** The same before anything of a call was sent. */
const unsentFault = rowsOf('UPSTREAM_ERROR', UNSENT);
const offline = rowsOf('AGENT_OFFLINE');
const unreachable = rowsOf('AGENT_OFFLINE', UNSENT);
const badInput = rowsOf('BAD_INPUT');
/** Why there is no token. */
const noToken = rowsOf('AUTH_DENIED', UNSENT);

export const failure = reasonTable({
  backoff: unreachable('The agent keeps failing to start', SEE_AGENT_LOG),
  bad_header: badInput('A header of the endpoint cannot be sent', 'correct endpoint.headers'),
  closed: offline('The connection to the agent was closed'),
  connect_timeout: offline(
    'The agent was not ready within {timeout_ms} ms',
    'see the log of the agent, or raise options.connect_timeout_ms of the endpoint',
  ),
  connection_lost: offline('The agent went away', SEE_AGENT_LOG),
  handshake: unsentFault('The agent and the gateway found no common protocol', USE_MCP),
  process_ended: offline('The agent process ended', 'see what the agent wrote'),
  stdin_full: offline('The agent does not read its input', 'see what the agent is doing'),
  unknown_session: unreachable('The agent has forgotten the session'),

  answer_too_large: fault(
    'The agent sent an answer over the size limit',
    'ask for less, or raise options.result_bytes of the endpoint',
  ),
  endless_list: fault('The list of tools of the agent has no end', 'list less'),
  list_timeout: { code: 'TIMEOUT', message: 'The agent did not list its tools in time' },
  no_answer: fault('The agent ended the stream without an answer', SEE_AGENT_LOG),
  no_subscriptions: unsentFault('The agent does not report changed resources'),
  not_json: fault('The agent sent something that is not JSON', USE_MCP),
  not_json_rpc: fault('The agent sent JSON that is not JSON-RPC', USE_MCP),
  not_mcp: fault('The agent does not serve MCP at this address', CHECK_URI),
  'not_mcp/media_type': fault('The agent answered with another media type', CHECK_URI),

  header_mismatch: fault('The agent says headers and body disagree'),
  missing_client_capability: badInput('The agent needs a client capability that was not declared'),
  unknown_tool: {
    code: 'CAPABILITY_NOT_FOUND',
    message: 'The agent does not have this tool',
    fix: 'see what the agent lists',
  },
  unsupported_version: fault('The agent speaks another protocol version than agreed on'),

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
  authorization_server: unsentFault(
    'The authorization server did not answer properly',
    'see the log of that server',
  ),
  'authorization_server/untrusted': noToken(
    'The authorization server cannot be trusted',
    'check oauth.issuer in endpoint.options of the agent',
  ),
  authorization_server_away: unreachable(
    'The authorization server of the agent is unreachable',
    'start the authorization server, or correct oauth.issuer in endpoint.options',
  ),
  bad_grant: unsentFault(
    'The identity provider gave no authorization grant',
    'check oauth.idp_token_endpoint; the provider must support ID-JAG',
  ),
  bad_options: badInput('Agent "{agent_id}" has wrong endpoint options', 'correct its manifest'),
  bad_token: unsentFault(
    'The authorization server gave a token of another kind',
    'let it give bearer tokens',
  ),
  'bad_token/unbound': unsentFault(
    'The authorization server gave a token of another kind',
    'let it bind tokens to keys (DPoP), or remove oauth.dpop',
  ),
  foreign_issuer: noToken(
    'The agent names an authorization server that is not trusted',
    'set oauth.issuer in endpoint.options if you trust it',
  ),
  insecure_endpoint: noToken(
    'The authorization server uses no encryption',
    'use an authorization server with https',
  ),
  login_needed: noToken('No person has logged in to this agent yet'),
  login_over: noToken('The login to this agent has ended', 'log in again'),
  login_refused: noToken(
    'The authorization server did not agree to the login',
    'log in again, and agree on the page of the server',
  ),
  metadata_origin: noToken('The agent names metadata on another origin', CHECK_URI),
  no_authorization_server: unsentFault(
    'There is no authorization server at its address',
    'set oauth.issuer in endpoint.options of the agent',
  ),
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
