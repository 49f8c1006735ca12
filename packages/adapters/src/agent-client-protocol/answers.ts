// Answers of the agent that a call depends on. The SDK passes them on as they came.

import type {
  InitializeResponse,
  NewSessionResponse,
  PromptResponse,
} from '@agentclientprotocol/sdk';
import { FabricError } from '@starloom/core';
import { z } from 'zod';

const MAX_ID = 1_024;

const initializeSchema = z.looseObject({ protocolVersion: z.number() });
const newSessionSchema = z.looseObject({ sessionId: z.string().min(1).max(MAX_ID) });
const promptSchema = z.looseObject({ stopReason: z.string() });

export function readInitialized(answer: InitializeResponse): InitializeResponse {
  return checked(initializeSchema, answer);
}

export function readNewSession(answer: NewSessionResponse): NewSessionResponse {
  return checked(newSessionSchema, answer);
}

export function readPrompted(answer: PromptResponse): PromptResponse {
  return checked(promptSchema, answer);
}

function checked<Answer>(schema: z.ZodType, answer: Answer): Answer {
  const { success, error: cause } = schema.safeParse(answer);
  if (success) return answer;
  throw new FabricError('UPSTREAM_ERROR', 'The answer of the agent is malformed', {
    details: { reason: 'bad_answer', fix: 'report it to the maker of the agent' },
    cause,
  });
}
