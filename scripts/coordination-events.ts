// What the server pushes, and what the log of a session holds. Tests compare both with what happens.

import { exampleSession, exampleTime } from './coordination-examples.ts';

export interface PushDescription {
  readonly method: string;
  readonly summary: string;
  /** To whom it goes. */
  readonly to: string;
  readonly example: Readonly<Record<string, unknown>>;
}

const subscription_id = '5d0f2c1b9c4e4f7a8a0d7b6c';
const inSession = { session_id: exampleSession, cursor: 15 };
const toSubscribers = 'connections that subscribed';
const toMembers = 'every connected member but the agent it is about';
const toHolder = 'the agent that held or waited for the lock';

export const PUSHES: readonly PushDescription[] = [
  {
    method: 'context_coordinator.update',
    summary:
      'The context changed. `update` has the new values by key and `removed` the keys that are ' +
      'gone; with `op` "increment" it has the amounts that were added',
    to: toSubscribers,
    example: {
      ...inSession,
      subscription_id,
      agent_id: 'writer',
      op: 'merge',
      update: { outline: ['why', 'how'] },
      version: 15,
    },
  },
  {
    method: 'context_coordinator.event',
    summary: 'Something else happened that the subscription asked for by `types`',
    to: toSubscribers,
    example: {
      ...inSession,
      subscription_id,
      type: 'session.agent_joined',
      agent_id: 'reviewer',
      role: 'reader',
      version: 15,
      at: exampleTime,
    },
  },
  {
    method: 'context_coordinator.snapshot_required',
    summary:
      'Updates up to `cursor` cannot be pushed: they are too old, or this reader is too slow. ' +
      'Get the context; what comes after `cursor` is pushed as before',
    to: toSubscribers,
    example: { ...inSession, subscription_id, version: 12 },
  },
  {
    method: 'context_coordinator.subscription_ended',
    summary:
      'The last word of a subscription that did not end by being asked to: the session is over ' +
      '(`session_ended`), or the agent is no longer a member of it (`not_a_member`)',
    to: toSubscribers,
    example: { session_id: exampleSession, subscription_id, reason: 'session_ended' },
  },
  {
    method: 'session_manager.notices_missed',
    summary:
      'This reader was so slow that notices of the session up to `cursor` are lost: read ' +
      'the members with session_manager.get and the locks with memory_locker.status',
    to: 'the member that was too slow',
    example: inSession,
  },
  {
    method: 'session_manager.agent_disconnected',
    summary: 'An agent is lost (`heartbeat_missed`) or went (`unregistered`); its locks are free',
    to: toMembers,
    example: {
      ...inSession,
      agent_id: 'writer',
      reason: 'heartbeat_missed',
      last_seen: exampleTime,
    },
  },
  {
    method: 'session_manager.agent_joined',
    summary: 'An agent joined, or came back with a new registration (`returned`)',
    to: toMembers,
    example: { ...inSession, agent_id: 'reviewer', role: 'reader', epoch: exampleTime },
  },
  {
    method: 'session_manager.agent_left',
    summary: 'An agent left, or its right was revoked',
    to: toMembers,
    example: { ...inSession, agent_id: 'reviewer', reason: 'left' },
  },
  {
    method: 'session_manager.state_changed',
    summary: 'The session was suspended, resumed or ended',
    to: toMembers,
    example: { ...inSession, agent_id: 'planner', state: 'suspended' },
  },
  {
    method: 'memory_locker.granted',
    summary: 'It is the turn of a request that waited',
    to: toHolder,
    example: {
      ...inSession,
      agent_id: 'writer',
      epoch: exampleTime,
      resource: 'context',
      mode: 'exclusive',
      lock_token: exampleTime,
      expires_at: exampleTime + 60_000,
      ticket: 'b0f6c1d2',
    },
  },
  {
    method: 'memory_locker.lost',
    summary:
      'A lock ended before it was released: its time was over (expired), or it was ended forcibly ' +
      '(broken), by an owner or because the registration of its holder ended',
    to: toHolder,
    example: {
      ...inSession,
      agent_id: 'writer',
      epoch: exampleTime,
      resource: 'context',
      mode: 'exclusive',
      lock_token: exampleTime,
      reason: 'expired',
    },
  },
];

export interface EventDescription {
  readonly type: string;
  readonly summary: string;
  /** Beside `type`, `version` and `at`. Those with a "?" are not always there. */
  readonly fields: readonly string[];
}

const lock = ['agent_id', 'epoch', 'resource', 'mode', 'lock_token'];

export const EVENTS: readonly EventDescription[] = [
  {
    type: 'context.update',
    summary: 'The context changed',
    fields: ['agent_id', 'op', 'update', 'removed?', 'lock_token?', 'cause?', 'trace_id?'],
  },
  { type: 'session.created', summary: 'The session began', fields: ['agent_id', 'mode'] },
  {
    type: 'session.agent_joined',
    summary: 'An agent joined, or did so again in another role or registration',
    fields: ['agent_id', 'role', 'epoch'],
  },
  {
    type: 'session.agent_returned',
    summary: 'A member came back with a new registration',
    fields: ['agent_id', 'epoch'],
  },
  {
    type: 'session.agent_disconnected',
    summary: 'A member is lost (`heartbeat_missed`) or went (`unregistered`)',
    fields: ['agent_id', 'reason', 'last_seen'],
  },
  {
    type: 'session.agent_left',
    summary: 'An agent is no longer a member: it `left`, or its right was `revoked`',
    fields: ['agent_id', 'reason'],
  },
  {
    type: 'session.role_changed',
    summary: 'A member has another role',
    fields: ['agent_id', 'role'],
  },
  { type: 'session.granted', summary: 'An owner gave a right', fields: ['agent_id'] },
  { type: 'session.revoked', summary: 'An owner took a right back', fields: ['agent_id'] },
  {
    type: 'session.checkpoint',
    summary: 'The context was kept as it was at `context_version`',
    fields: ['agent_id', 'checkpoint_id', 'context_version'],
  },
  {
    type: 'session.checkpoint_removed',
    summary: 'A checkpoint was forgotten',
    fields: ['agent_id', 'checkpoint_id'],
  },
  {
    type: 'session.suspended',
    summary: 'No agent writes until it is resumed',
    fields: ['agent_id'],
  },
  { type: 'session.resumed', summary: 'It is open again', fields: ['agent_id'] },
  {
    type: 'session.ended',
    summary: 'An owner `ended` it, it was `empty`, or its time was over (`expired`)',
    fields: ['agent_id', 'reason'],
  },
  {
    type: 'lock.granted',
    summary: 'A waiting request received its lock; a lock that was free causes no event',
    fields: [...lock, 'expires_at', 'ticket'],
  },
  {
    type: 'lock.lost',
    summary: 'A lock ended before it was released: `expired` or `broken`',
    fields: [...lock, 'reason'],
  },
  {
    type: 'lock.broken',
    summary: 'An owner (`agent_id`) ended a lock of `holder`',
    fields: ['agent_id', 'holder', 'resource', 'lock_token'],
  },
  {
    type: 'lock.cancelled',
    summary: 'An agent gave up its place in a queue',
    fields: ['agent_id', 'resource', 'ticket'],
  },
];
