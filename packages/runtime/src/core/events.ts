import type { ErrorCode, Hop, Trace } from '@starloom/core';
import type { ContentSegment, ResponseMetadata, ToolCall, ToolResult } from '@starloom/sdk';
import type { Origin, Verdict } from './seams.ts';

/** Everything that is visible on the bus, by name. */
export interface AgentEvents {
  /** A message for the model. */
  'INPUT:MESSAGE': { segments: readonly ContentSegment[]; origin: Origin };
  /** A slash command, as typed. */
  'INPUT:COMMAND': { text: string };

  'EXEC:STEP': { step: number };
  'EXEC:TOOL_CALL': { call: Required<ToolCall>; origin: Origin; hop: Hop };
  'EXEC:TOOL_RESULT': {
    call: Required<ToolCall>;
    origin: Origin;
    result: ToolResult;
    ms: number;
    code?: ErrorCode;
  };

  'STREAM:TEXT': { text: string };
  'STREAM:REASONING': { text: string };
  'STREAM:SEGMENT': { segment: ContentSegment };
  /** What the model said in this step is void: it is asked again. */
  'STREAM:DISCARD': { attempt: number; waitMs: number; code: ErrorCode };
  'STREAM:PROGRESS': { call: string; message: string; percent?: number };
  /** The model has answered; calls may follow. */
  'STREAM:STEP': { metadata: ResponseMetadata };
  /** The turn is over. */
  'STREAM:END': { segments: readonly ContentSegment[] };
  'STREAM:ERROR': { code: ErrorCode; message: string };

  'SAFETY:VERDICT': { call: Required<ToolCall>; origin: Origin; verdict: Verdict };
  /** A person is asked. */
  'SAFETY:APPROVAL': { call: Required<ToolCall>; verdict: Verdict };
  'SAFETY:APPROVED': { call: Required<ToolCall> };
  'SAFETY:DENIED': {
    call: Required<ToolCall>;
    rule: string;
    reasons: readonly string[];
    fix: string;
  };
  'SAFETY:WARNING': { reason: string; message: string };
  'SAFETY:BUDGET': { budget: string; limit: number; used: number };
  'SAFETY:HALT': { reason: string; message: string };
  'SAFETY:COMPACTED': { folded: number; kept: number };
}

export type AgentEventName = keyof AgentEvents;

export type AgentEventOf<Name extends AgentEventName> = {
  readonly type: Name;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly sessionId: string;
  readonly trace: Trace;
  readonly data: Readonly<AgentEvents[Name]>;
};

export type AgentEvent = { [Name in AgentEventName]: AgentEventOf<Name> }[AgentEventName];
