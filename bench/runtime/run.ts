import type { CommandContext } from '../command.ts';
import {
  type MeasuredSessions,
  measureSessions,
  type SessionsOptions,
} from './measure-sessions.ts';
import { type MeasuredStarts, measureStarts, type StartOptions } from './measure-starts.ts';
import { type MeasuredTurns, measureTurns, type TurnOptions } from './measure-turns.ts';

export type RunOptions = TurnOptions & SessionsOptions & StartOptions;

export interface Measured {
  readonly sessions: number;
  readonly turns: MeasuredTurns;
  readonly atOnce: MeasuredSessions;
  readonly starts: MeasuredStarts;
}

/** One thing after the other: two at a time would measure each other. */
export async function run(options: RunOptions, context: CommandContext): Promise<Measured> {
  const starts = await measureStarts(options, context);
  const turns = await measureTurns(options, context);
  const atOnce = await measureSessions(options, context);
  return { sessions: options.sessions, turns, atOnce, starts };
}
