import type { Log, LogFields } from '@starloom/core';
import { type Agent, type Approve, agentStateFolder, openAgent } from '@starloom/runtime';
import { makeStateFolder, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { toPlainText } from './agent-text.ts';

export interface OpenOptions {
  /** An `agent.json` or its folder; the one of this folder by default. */
  readonly path: string | undefined;
  readonly json: boolean;
  /** Absent: what needs approval is refused. */
  readonly approve?: Approve | undefined;
}

/** The agent as every command opens it: sessions and decisions are kept in the state folder. */
export async function openCommandAgent(terminal: Terminal, options: OpenOptions): Promise<Agent> {
  const { path = '.', json, approve } = options;
  const { env } = terminal;
  return await openAgent({
    path,
    env,
    stateFolder: await makeStateFolder(env),
    log: createCommandLog(terminal, json),
    ...(approve && { approve }),
  });
}

/** Where the state of an agent is kept that a command opened. */
export function agentFolder(env: Terminal['env'], { guard }: Agent): string {
  return agentStateFolder(stateFolder(env), guard.agentId);
}

/** Warnings and errors alone: a command is no service, and its user reads along. */
export function createCommandLog(
  { tell }: Pick<Terminal, 'tell'>,
  json: boolean,
  above: LogFields = {},
): Log {
  const say = (level: string) => (fields: LogFields, message: string) => {
    const all = { ...above, ...fields };
    tell(json ? JSON.stringify({ level, message, ...all }) : forPeople(level, message, all));
  };
  return {
    debug: () => {},
    info: () => {},
    warn: say('warning'),
    error: say('error'),
    child: (fields) => createCommandLog({ tell }, json, { ...above, ...fields }),
  };
}

function forPeople(level: string, message: string, fields: LogFields): string {
  const { fix, ...rest } = fields;
  const known = Object.entries(rest).filter(([, value]) => value !== undefined && value !== '');
  const shown = known.map(([key, value]) => `${key}=${String(value)}`).join(' ');
  const line = `${level}: ${message}${shown && ` (${shown})`}`;
  return toPlainText(typeof fix === 'string' ? `${line}\n  fix: ${fix}` : line);
}
