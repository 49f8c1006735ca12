import { TOOL_ERROR } from './errors.ts';
import { reasonTable, rowsOf } from './reason-table.ts';

const offline = rowsOf('AGENT_OFFLINE');
const badInput = rowsOf('BAD_INPUT');
const recursion = rowsOf('RECURSION_LIMIT');
const fault = rowsOf('UPSTREAM_ERROR');

const SEE_LOG = 'see the log of the agent';

export const failure = reasonTable({
  deadline: {
    code: 'TIMEOUT',
    message: 'The call did not finish within {deadline_ms} ms',
    fix: 'raise deadline_ms, or ask for less',
  },
  not_json: badInput(
    'A {type} like this has no canonical JSON',
    'use finite numbers and strings without lone surrogates, as RFC 8785 asks',
  ),

  trace: badInput('Two spellings of {key} disagree', 'send each key of the trace once'),
  depth: badInput(
    'The call depth is not an integer from 0 to 1000',
    'send X-OpenStarry-Depth as a small integer, or leave it out',
  ),
  chain: badInput(
    'The call chain is not a list of agent/capability',
    'send at most 64 comma-separated agent/capability',
  ),
  'depth/limit': recursion('Call depth {depth} is beyond the limit of {limit}'),
  cycle: recursion('The call closes a cycle: {path}'),
  tripped: recursion('This trace was refused before and stays refused'),
  uncounted: recursion(
    '{calls} calls of this trace are in flight here',
    'pass X-OpenStarry-Trace-ID and X-OpenStarry-Depth on with every call',
  ),

  unreachable: {
    code: 'AGENT_OFFLINE',
    message: 'The agent is unreachable: {why}',
    fix: 'start the agent, or correct endpoint.uri of its manifest',
    details: { sent: false },
  },
  closed: offline('The connection to the agent was closed'),
  connection_lost: offline('The agent went away without an answer', SEE_LOG),
  'connection_lost/answer': fault('The agent went away before its answer ended', SEE_LOG),
  invalid_http: fault('The agent does not answer in HTTP', 'let the agent answer in HTTP/1.1'),

  agent_denied: {
    code: 'AUTH_DENIED',
    message: 'The agent did not accept our credentials',
    fix: 'check endpoint.headers of the agent',
  },
  agent_timeout: {
    code: 'TIMEOUT',
    message: 'The agent ran out of time',
    fix: 'call again, or raise the timeout at the agent',
  },
  not_found: {
    code: 'CAPABILITY_NOT_FOUND',
    message: 'The agent does not serve this address',
    fix: 'check endpoint.uri of the agent',
  },
  agent_rate_limit: {
    code: 'RATE_LIMITED',
    message: 'The agent takes no more calls for now',
    fix: 'call again later',
  },
  agent_unavailable: {
    code: 'AGENT_OFFLINE',
    message: 'The agent is unavailable',
    fix: 'call again when the agent is back',
  },
  redirect: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent answered with a redirect, and redirects are not followed',
    fix: 'use the final address as endpoint.uri',
  },
  [TOOL_ERROR]: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent refused the request',
    fix: 'see details.upstream, then correct the arguments',
  },
  http_status: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent failed',
    fix: 'see details.upstream and the log of the agent',
  },

  manifest: badInput('Not a valid manifest', 'correct these fields'),
  manifest_bytes: badInput(
    'The manifest has {bytes} bytes; {limit} are allowed',
    'shorten its descriptions and schemas',
  ),
  manifest_text: badInput(
    'The manifest holds text that cannot be stored: NUL characters or half a surrogate pair',
    'remove these characters',
  ),
  look_alike: badInput('The name "{agent_id}" looks like "{like}"', 'choose another name'),
  taken: badInput(
    'The name "{agent_id}" is taken',
    'choose another agent_id, or use the key with which it was registered',
  ),
  removed: badInput(
    'An operator removed the agent "{agent_id}"',
    'ask the operator of the gateway, who can add it again',
  ),
  stale_epoch: badInput(
    'This registration of "{agent_id}" on node "{node_id}" has ended',
    'register again, and use the epoch of that registration',
  ),
  revision_conflict: badInput(
    'The agent "{agent_id}" was changed meanwhile: it is at revision {revision}',
    'read it again and repeat the change',
  ),
  lease_ms: badInput(
    'A lease lasts from {least} to {most} ms',
    'ask for a lease within these limits',
  ),
});
