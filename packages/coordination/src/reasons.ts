// Why coordination refuses a request, and why its store cannot work. A row with `rpc` is a refusal:
// nothing was done. The wire gets that JSON-RPC code, the message as `data.details`, and beside it what
// a program needs to go on (`reason`, `current_version`, `holder` and so on).

import {
  type ErrorCode,
  type ErrorDetails,
  FabricError,
  type ReasonRow,
  reasonTable,
} from '@starloom/core';

interface Row extends ReasonRow {
  readonly rpc?: number;
}

const refusal =
  <const Code extends ErrorCode>(code: Code, rpc: number) =>
  <const Message extends string, const Fix extends string>(
    message: Message,
    fix: Fix,
    details: ErrorDetails = {},
  ) => ({ code, rpc, message, fix, details });

const badParams = refusal('BAD_INPUT', -32602);
const denied = refusal('AUTH_DENIED', -32001);
const absent = refusal('CAPABILITY_NOT_FOUND', -32004);
const conflict = refusal('BAD_INPUT', -32013);
const locked = refusal('OVERLOADED', -32014);
const needsLock = refusal('POLICY_DENIED', -32014);
const stale = refusal('POLICY_DENIED', -32015);
const overQuota = refusal('RATE_LIMITED', -32016);

export const failure = reasonTable({
  unknown_method: refusal('BAD_INPUT', -32601)(
    'There is no method "{method}"',
    'mcp.describe lists the methods',
  ),
  'bad_params/schema': badParams(
    'The parameters do not fit: {problem}',
    'docs/coordination.md and mcp.describe list the parameters',
  ),
  'bad_params/no_gateway': badParams(
    'No gateway can serve the calls of this agent here',
    'register without endpoint, or register at a gateway',
  ),
  'bad_params/no_agent': badParams(
    'The request does not name an agent, and your principal has registered none',
    'send agent_id; to create or join a session with it registers that agent',
  ),
  'bad_params/several_agents': badParams(
    'The request does not name an agent, and your principal has several',
    'send agent_id; to create or join a session with it registers that agent',
  ),
  'bad_params/no_grantee': badParams(
    'The request names no member and no principal',
    'send member or principal',
  ),
  'bad_params/two_origins': badParams(
    'A fork begins with one context, and two are named',
    'send checkpoint_id or at_version, not both',
  ),
  'bad_params/not_an_object': badParams(
    'The update must be an object of keys and values',
    'send a JSON object; only "patch" takes a list of JSON Patch operations',
  ),
  'bad_params/key': badParams(
    'A key has 1 to {most} characters, and no lone surrogates',
    'use another key',
  ),
  'bad_params/patch': badParams(
    'The patch is malformed: {problem}',
    'send a list of JSON Patch operations (RFC 6902)',
  ),
  'bad_params/forbidden_key': badParams(
    'Operation {operation} of the patch makes a forbidden key',
    'use other keys than "__proto__" and "constructor.prototype"',
  ),
  'bad_params/nothing_to_evict': badParams(
    'The request names nothing to evict',
    'send chunk_id, or bytes',
  ),
  'bad_params/nothing_to_invalidate': badParams(
    'The request names nothing to invalidate',
    'name a tool, a tool with its params, tags or dependencies',
  ),
  'bad_params/no_session': badParams('The scope "session" needs a session', 'send session_id'),
  'bad_params/content': badParams(
    'The content is not valid {encoding}',
    'send text as utf8, anything else as base64 with padding',
  ),
  'bad_params/not_text': badParams(
    'These bytes are not text in UTF-8',
    'ask for base64, or for a part that begins and ends between two characters',
  ),
  cursor_from_the_future: badParams(
    'The session is only at {current_version}',
    'use a version or cursor that this session gave you',
  ),
  idempotency_key_reused: badParams(
    'The key was used for another request',
    'use a new key for a new request',
  ),
  'not_a_number/value': badParams(
    'The value of "{key}" is not a number',
    'set the key to a number first',
  ),
  'not_a_number/amount': badParams(
    'The amount for "{key}" is not a number',
    'give a number to add for each key',
  ),
  'not_a_number/sum': badParams(
    'The sum is not exact: it is beyond 2^53 - 1, or equal to the value before',
    'begin another key, or keep larger numbers as text',
    { most: Number.MAX_SAFE_INTEGER },
  ),
  not_a_list: badParams(
    'The value of "{key}" is not a list',
    'append to lists; merge sets any value',
  ),
  'patch_failed/operation': badParams(
    'Operation {operation} of the patch failed at "{path}": {problem}',
    'read the context again and make a new patch',
  ),
  'patch_failed/depth': badParams(
    'The patch makes values nested deeper than {allowed}',
    'nest less, and copy nothing into itself again and again',
  ),
  'patch_failed/not_an_object': badParams(
    'After the patch the context would not be an object',
    'patch the members of the context',
  ),
  not_authorised: denied(
    '"{principal}" may not use coordination',
    'use a key with the scope toolset:coordination',
    { scope: 'toolset:coordination' },
  ),
  agent_id_taken: denied(
    'The agent id "{agent_id}" belongs to another principal',
    'use an agent id of your own',
  ),
  role_too_low: denied(
    '"{agent_id}" is {role} here, but {needed} is needed',
    'ask an owner of the session for session_manager.grant',
  ),
  /** An unknown and a forbidden session get this same answer. */
  'not_found/session': absent(
    'There is no session "{session_id}" for you',
    'use the id of a session you belong to; session_manager.list shows them',
  ),
  'not_found/agent': absent('There is no agent "{agent_id}"', 'agent_registry.list shows them'),
  'not_found/checkpoint': absent(
    'There is no checkpoint "{checkpoint_id}"',
    'session_manager.checkpoints lists those of the session',
  ),
  'not_found/chunk': absent(
    'There is no chunk "{chunk_id}"',
    'shared_buffer.list shows the chunks of the session',
  ),
  'not_found/version': absent(
    'Version {version} is too old to be read',
    'make a checkpoint of what must be kept',
  ),
  'conflict/context': conflict(
    'The context is not as expected: it is at version {current_version}',
    'read it, decide again, and send the version you read',
  ),
  'conflict/busy': conflict(
    'Other agents change these keys all the time',
    'take the lock of the context first',
  ),
  'conflict/session': conflict('The session changed meanwhile', 'try again'),
  'conflict/not_suspended': conflict(
    'The session "{session_id}" is not suspended',
    'session_manager.suspend first, so that no agent writes meanwhile',
  ),
  'conflict/referenced': conflict(
    'Other agents hold a reference to "{chunk_id}"',
    'evict it when they have left the session',
  ),
  test_failed: conflict(
    'The test of "{path}" does not hold',
    'read the context again and make a new patch',
  ),
  session_exists: conflict(
    'The session id "{session_id}" is in use',
    'join it, or create one without naming it',
  ),
  /** It does not say whether a session of another principal has the id, or had it. */
  id_unavailable: conflict(
    'The session id "{session_id}" cannot be used',
    'create the session without session_id, or choose another one',
  ),
  session_suspended: conflict(
    'The session "{session_id}" is suspended',
    'session_manager.resume, by its owner',
  ),
  in_progress: refusal('OVERLOADED', -32013)(
    'The first request with this key is still in progress',
    'ask again a little later',
  ),
  outcome_unknown: conflict(
    'It is not known whether the first request with this key was done',
    'look whether it was done; if not, send it with a new key',
  ),
  lock_required: needsLock(
    'This needs the exclusive lock of the context',
    'send lock_token from memory_locker.acquire, or with_lock: true',
  ),
  'lock_held/own': locked(
    'You hold the lock of "{resource}" already',
    'go on with the lock_token that you have (memory_locker.renew), or release it first',
  ),
  'lock_held/other': locked(
    '"{resource}" is locked by "{holder}"',
    'wait in the queue: memory_locker.acquire with wait_ms',
  ),
  'lock_held/queue': locked(
    '"{resource}" is not free: other agents wait for it',
    'wait in the queue: memory_locker.acquire with wait_ms',
  ),
  'lock_held/waited': locked(
    '"{resource}" was not free within {waited_ms} ms',
    'ask again, or wait for longer',
  ),
  'lock_held/cancelled': locked(
    'The place in the queue of "{resource}" was given up',
    'ask again if the lock is still needed',
    { cancelled: true },
  ),
  deadlock: needsLock(
    'The wait would never end: {circle} would wait for each other',
    'release what you hold and ask again, always in the same order',
  ),
  'stale_token/lock': stale(
    'The lock token {lock_token} of "{resource}" is not valid (any more)',
    'acquire the lock again, read what changed, then write',
  ),
  'stale_token/claim': stale(
    'The claim {claim} on this result of "{tool}" has ended',
    'tool_cache.get again: the result may be there; if not, claim it again or put without claim',
  ),
  stale_epoch: stale(
    'This registration of "{agent_id}" has ended',
    'register again, or join again if it never registered; then act under the new epoch',
  ),
  quota: overQuota('No more than {allowed} are allowed ({limit})', 'end or remove some first'),
  'quota/size': overQuota(
    '{bytes} bytes are more than allowed ({limit})',
    'send less; put what is large into the shared buffer in parts',
  ),
  'quota/copied': overQuota(
    'The patch copies more than a context may hold ({limit})',
    'copy less, and nothing into itself again and again',
    { limit: 'context_bytes' },
  ),
  store_in_use: {
    code: 'BAD_INPUT',
    message: 'Another process uses this coordination store',
    fix: 'stop the other process, give this one its own path, or share a Redis store',
  },
  not_a_store: {
    code: 'BAD_INPUT',
    message: 'This file is not a coordination store',
    fix: 'name another path',
  },
  newer_store: {
    code: 'BAD_INPUT',
    message: 'This coordination store was written by a newer version',
    fix: 'run the newer version, or name another path',
  },
  corrupt_store: {
    code: 'INTERNAL',
    message: 'The coordination store is damaged',
    fix: 'restore {path} from a backup, or move it away to start empty',
  },
  engine_too_old: {
    code: 'BAD_INPUT',
    message: 'Redis {version} is too old for coordination',
    fix: 'use Redis 7 or newer',
  },
  engine_busy: {
    code: 'OVERLOADED',
    message: 'The disk is slower than the writes to it',
    fix: 'try again',
  },
  'engine_unavailable/file': {
    code: 'OVERLOADED',
    message: 'The coordination store cannot be written',
    fix: 'make room on the disk, or correct the permissions of {path}',
  },
  'engine_unavailable/closed': { code: 'OVERLOADED', message: 'The coordination store is closed' },
  'engine_unavailable/away': {
    code: 'OVERLOADED',
    message: 'Coordination is not available: {problem}',
    fix: 'try again',
  },
  'engine_unavailable/redis': {
    code: 'OVERLOADED',
    message: 'The coordination engine cannot do its work',
    fix: 'try again',
    details: { engine: 'redis' },
  },
  'engine_unavailable/late': {
    code: 'OVERLOADED',
    message: 'Changes in Redis are noticed late',
    fix: 'let each gateway have two connections to Redis: see maxclients, and proxies between them',
    details: { engine: 'redis' },
  },
  unwritable_answer: {
    code: 'INTERNAL',
    message: 'The answer cannot be written',
    fix: 'ask for less at once',
  },
});

type Rows = typeof failure.rows;
type ReasonIn<Key> = Key extends `${infer Name}/${string}` ? Name : Key;

export type Reason = {
  [Key in keyof Rows]: Rows[Key] extends { readonly rpc: number } ? ReasonIn<Key> : never;
}[keyof Rows];

interface Refusal {
  readonly code: ErrorCode;
  readonly rpc: number;
}

export const REASONS = toRefusals(failure.rows);

function toRefusals(rows: Readonly<Record<string, Row>>): Readonly<Record<Reason, Refusal>> {
  const refusals = Object.entries(rows).flatMap(([key, { code, rpc }]) =>
    rpc === undefined ? [] : [[key.split('/')[0], { code, rpc }] as const],
  );
  return Object.fromEntries(refusals);
}

/** Is it a refusal? Then nothing was done. */
export function isRefusal(error: unknown): boolean {
  return FabricError.is(error) && Object.hasOwn(REASONS, String(error.details.reason));
}

export function isReason(error: unknown, reason: Reason): boolean {
  return FabricError.is(error) && error.details.reason === reason;
}
