// Every attack by its name, in the order they run.

import type { Attack } from '../attack.ts';
import {
  changingSchemas,
  droppedHeaders,
  hostileSchemas,
  largeAnswers,
  largeDescriptions,
  tokenStreams,
} from './agents.ts';
import {
  abortedUploads,
  deepAndWideJson,
  unauthenticatedBodies,
  unfinishedBodies,
} from './bodies.ts';
import {
  agentSlots,
  callsInFlight,
  manyMcpSessions,
  manyRegistrations,
  manySessions,
  manySockets,
  pingFlood,
} from './connections.ts';
import { manyJobs, manySubscriptions, waitingLocks } from './floods.ts';
import { foreignTrace, fullStore } from './principals.ts';

export const ATTACKS = {
  'unauthenticated-bodies': unauthenticatedBodies,
  'unfinished-bodies': unfinishedBodies,
  'aborted-uploads': abortedUploads,
  'deep-and-wide-json': deepAndWideJson,
  'hostile-schemas': hostileSchemas,
  'changing-schemas': changingSchemas,
  'large-answers': largeAnswers,
  'large-descriptions': largeDescriptions,
  'token-streams': tokenStreams,
  'calls-in-flight': callsInFlight,
  'agent-slots': agentSlots,
  'ping-flood': pingFlood,
  'many-sockets': manySockets,
  'many-mcp-sessions': manyMcpSessions,
  'many-sessions': manySessions,
  'many-registrations': manyRegistrations,
  'waiting-locks': waitingLocks,
  'many-subscriptions': manySubscriptions,
  'many-jobs': manyJobs,
  'full-store': fullStore,
  'foreign-trace': foreignTrace,
  'dropped-headers': droppedHeaders,
} as const satisfies Record<string, Attack>;

export type AttackName = keyof typeof ATTACKS;
