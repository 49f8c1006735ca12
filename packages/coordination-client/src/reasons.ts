// Why the client itself fails a request; what the gateway refuses keeps the gateway's own reason.
// `rpc` is the JSON-RPC code that the gateway gives for the same.

import { reasonTable } from '@starloom/core';

export const LOCK_HELD = -32014;
export const STALE = -32015;
export const NOT_FOUND = -32004;

export const failure = reasonTable({
  closed: { code: 'CANCELLED', message: 'The client is closed' },
  connection_lost: {
    code: 'AGENT_OFFLINE',
    message: 'The connection was lost',
    fix: 'none needed: the client connects again',
  },
  'timeout/sent': {
    code: 'TIMEOUT',
    message: 'No answer to {method} within {timeout_ms} ms',
    fix: 'it may be done, now or later: look, or ask again with this idempotency_key',
    details: { may_be_done: true },
  },
  'timeout/unsent': {
    code: 'TIMEOUT',
    message: 'No answer to {method} within {timeout_ms} ms',
    fix: 'it was not sent: see whether the gateway can be reached, and ask again',
    details: { may_be_done: false },
  },
  too_large: {
    code: 'BAD_INPUT',
    message: 'The request {method} is too large for the gateway',
    fix: 'send less at once, or raise limits.body_bytes of the gateway (4 MiB by default)',
  },
  answer_too_large: {
    code: 'UPSTREAM_ERROR',
    message: 'An answer is too large for the client',
    fix: 'ask for less at once, or raise maxMessageBytes (32 MiB by default); repeat other requests that were in flight',
    details: { may_be_done: true },
  },
  not_accepted: {
    code: 'UPSTREAM_ERROR',
    message: 'The gateway does not accept what was sent ({close_code})',
    fix: 'look whether it was done; see what stands between here and the gateway',
    details: { may_be_done: true },
  },
  bad_address: {
    code: 'BAD_INPUT',
    message: 'The address or the key cannot be used',
    fix: 'give an address as ws://127.0.0.1:7420/rpc/ws, and the key as it is',
  },
  unreachable: {
    code: 'AGENT_OFFLINE',
    message: 'The gateway cannot be reached',
    fix: 'see whether it runs, and whether the address is right',
  },
  'refused/401': {
    code: 'AUTH_DENIED',
    message: 'The gateway answered {status}',
    fix: 'check the key that is sent',
  },
  'refused/403': {
    code: 'AUTH_DENIED',
    message: 'The gateway answered {status}',
    fix: 'check what the key may do',
  },
  'refused/404': {
    code: 'AGENT_OFFLINE',
    message: 'The gateway answered {status}',
    fix: 'check the address: coordination is at /rpc/ws',
  },
  'refused/429': {
    code: 'RATE_LIMITED',
    message: 'The gateway answered {status}',
    fix: 'connect again later, and less often',
  },
  'refused/503': {
    code: 'OVERLOADED',
    message: 'The gateway answered {status}',
    fix: 'connect again later',
  },
  'refused/other': {
    code: 'AGENT_OFFLINE',
    message: 'The gateway answered {status}',
    fix: 'see the log of the gateway, and of what stands between',
  },
  session_ended: {
    code: 'CAPABILITY_NOT_FOUND',
    message: 'The subscription has ended: the session has ended',
    fix: 'join another session',
    details: { rpc: NOT_FOUND },
  },
  not_a_member: {
    code: 'CAPABILITY_NOT_FOUND',
    message: 'The subscription has ended: the agent is not in the session',
    fix: 'join the session again',
    details: { rpc: NOT_FOUND },
  },
  lease_lost: {
    code: 'POLICY_DENIED',
    message: 'The lock of "{resource}" was lost: {why}',
    fix: 'look what stands there, then do the work again under a new lock',
    details: { rpc: STALE },
  },
  lock_held: {
    code: 'OVERLOADED',
    message: '"{resource}" is locked by other work of "{holder}"',
    fix: 'ask with a longer wait_ms, or do less at once under one lock',
    details: { rpc: LOCK_HELD },
  },
  deadlock: {
    code: 'POLICY_DENIED',
    message: 'This work has the lock of "{resource}" already',
    fix: 'go on with the lock_token that the work was given',
    details: { rpc: LOCK_HELD },
  },
});
