import { TOOL_ERROR } from './errors.ts';
import { reasonTable } from './reason-table.ts';

const SEE_LOG = 'see the log of the agent';

export const failure = reasonTable({
  deadline: {
    code: 'TIMEOUT',
    message: 'The call did not finish within {deadline_ms} ms',
    fix: 'raise deadline_ms, or ask for less',
  },
  not_json: {
    code: 'BAD_INPUT',
    message: 'A {type} like this has no canonical JSON',
    fix: 'use finite numbers and strings without lone surrogates, as RFC 8785 asks',
  },

  trace: {
    code: 'BAD_INPUT',
    message: 'Two spellings of {key} disagree',
    fix: 'send each key of the trace once',
  },
  depth: {
    code: 'BAD_INPUT',
    message: 'The call depth is not an integer from 0 to 1000',
    fix: 'send X-OpenStarry-Depth as a small integer, or leave it out',
  },
  chain: {
    code: 'BAD_INPUT',
    message: 'The call chain is not a list of agent/capability',
    fix: 'send at most 64 comma-separated agent/capability',
  },
  'depth/limit': {
    code: 'RECURSION_LIMIT',
    message: 'Call depth {depth} is beyond the limit of {limit}',
  },
  cycle: { code: 'RECURSION_LIMIT', message: 'The call closes a cycle: {path}' },
  tripped: {
    code: 'RECURSION_LIMIT',
    message: 'This trace was refused before and stays refused',
  },
  uncounted: {
    code: 'RECURSION_LIMIT',
    message: '{calls} calls of this trace are in flight here',
    fix: 'pass X-OpenStarry-Trace-ID and X-OpenStarry-Depth on with every call',
  },

  unreachable: {
    code: 'AGENT_OFFLINE',
    message: 'The agent is unreachable: {why}',
    fix: 'start the agent, or correct endpoint.uri of its manifest',
    details: { sent: false },
  },
  closed: { code: 'AGENT_OFFLINE', message: 'The connection to the agent was closed' },
  connection_lost: {
    code: 'AGENT_OFFLINE',
    message: 'The agent went away without an answer',
    fix: SEE_LOG,
  },
  'connection_lost/answer': {
    code: 'UPSTREAM_ERROR',
    message: 'The agent went away before its answer ended',
    fix: SEE_LOG,
  },
  invalid_http: {
    code: 'UPSTREAM_ERROR',
    message: 'The agent does not answer in HTTP',
    fix: 'let the agent answer in HTTP/1.1',
  },

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

  manifest: {
    code: 'BAD_INPUT',
    message: 'Not a valid manifest',
    fix: 'correct these fields',
  },
  manifest_bytes: {
    code: 'BAD_INPUT',
    message: 'The manifest has {bytes} bytes; {limit} are allowed',
    fix: 'shorten its descriptions and schemas',
  },
  manifest_text: {
    code: 'BAD_INPUT',
    message:
      'The manifest holds text that cannot be stored: NUL characters or half a surrogate pair',
    fix: 'remove these characters',
  },
  look_alike: {
    code: 'BAD_INPUT',
    message: 'The name "{agent_id}" looks like "{like}"',
    fix: 'choose another name',
  },
  taken: {
    code: 'BAD_INPUT',
    message: 'The name "{agent_id}" is taken',
    fix: 'choose another agent_id, or use the key with which it was registered',
  },
  removed: {
    code: 'BAD_INPUT',
    message: 'An operator removed the agent "{agent_id}"',
    fix: 'ask the operator of the gateway, who can add it again',
  },
  stale_epoch: {
    code: 'BAD_INPUT',
    message: 'This registration of "{agent_id}" on node "{node_id}" has ended',
    fix: 'register again, and use the epoch of that registration',
  },
  revision_conflict: {
    code: 'BAD_INPUT',
    message: 'The agent "{agent_id}" was changed meanwhile: it is at revision {revision}',
    fix: 'read it again and repeat the change',
  },
  lease_ms: {
    code: 'BAD_INPUT',
    message: 'A lease lasts from {least} to {most} ms',
    fix: 'ask for a lease within these limits',
  },
});
