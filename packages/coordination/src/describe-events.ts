// What the log of a session holds, for those who read or subscribe to it by type.

export interface EventDescription {
  readonly type: string;
  readonly summary: string;
  /** Beside `type`, `version` and `at`. Those with a "?" are not always there. */
  readonly fields: readonly string[];
}

const lock = ['agent_id', 'epoch', 'resource', 'mode', 'lock_token'];

const EVENTS: readonly EventDescription[] = [
  {
    type: 'context.update',
    summary: 'The context changed',
    fields: ['agent_id', 'op', 'update', 'removed?', 'lock_token?', 'cause?', 'trace_id?'],
  },
  { type: 'session.created', summary: 'The session began', fields: ['agent_id', 'mode'] },
  {
    type: 'session.agent_joined',
    summary: 'An agent joined, or did so again in another role or life',
    fields: ['agent_id', 'role', 'epoch'],
  },
  {
    type: 'session.agent_returned',
    summary: 'A member came back in a new life',
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

export function describeEvents(): readonly EventDescription[] {
  return EVENTS;
}
