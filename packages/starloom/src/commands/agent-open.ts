import type { Log, LogFields } from '@starloom/core';
import {
  type Agent,
  type Approval,
  type Approve,
  type AskCaller,
  agentStateFolder,
  describeQuestion,
  describeRule,
  openAgent,
  type ToolRequest,
  type Verdict,
  type Workspace,
} from '@starloom/runtime';
import { makeStateFolder, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { toOneLine, toSafeJson } from '../terminal-text.ts';

interface OpenOptions {
  /** An `agent.json` or its folder; the one of this folder by default. */
  readonly path: string | undefined;
  readonly json: boolean;
  /** Absent: what needs approval is refused. */
  readonly approve?: Approve | undefined;
  /** Absent: no tool can ask its caller. */
  readonly askCaller?: AskCaller | undefined;
  readonly workspace?: Workspace | undefined;
}

/** The agent as every command opens it: sessions and decisions are kept in the state folder. */
export async function openCommandAgent(terminal: Terminal, options: OpenOptions): Promise<Agent> {
  const { path = '.', json, approve, askCaller, workspace } = options;
  const { env } = terminal;
  return await openAgent({
    path,
    env,
    stateFolder: await makeStateFolder(env),
    log: createCommandLog(terminal, json),
    ...(approve && { approve }),
    askCaller,
    ...(workspace && { workspace }),
  });
}

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
    tell(json ? toSafeJson({ level, message, ...all }) : forPeople(level, message, all));
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
  return typeof fix === 'string' ? `${line}\n  fix: ${fix}` : line;
}

// How a tool call is approved that needs it: by the option --yes, or by a person at the terminal.

/** Of one argument; what is left out is counted, since a yes covers all of it. */
const WIDTH = 300;

type Ask = (question: string, signal: AbortSignal) => Promise<string | undefined>;

export function approveOnce(
  terminal: Terminal,
  { yes, json }: { readonly yes: true | undefined; readonly json: boolean },
): Approve | undefined {
  if (yes) return async () => true;
  if (json || !terminal.canAsk) return undefined;
  return approveBy(async (question, signal) => {
    return await terminal.ask(question, signal).catch(() => {
      process.emit('SIGINT');
      return undefined;
    });
  });
}

/** One question at a time, however many calls need approval at once. */
export function approveBy(ask: Ask): Approve {
  let before: Promise<unknown> = Promise.resolve();
  return (request, _tool, verdict) => {
    const answer = before.then(async () =>
      toApproval((await ask(approvalQuestion(request, verdict), request.signal)) ?? ''),
    );
    before = answer.catch(() => {});
    return answer;
  };
}

/** The call as it will run, why it needs approval, what a yes covers, and the answers. */
function approvalQuestion({ call }: ToolRequest, verdict: Verdict): string {
  const name = toOneLine(call.name, WIDTH);
  const args = Object.entries(Object(call.args)).map(([key, value]) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    const more = text.length > WIDTH ? ` (${text.length - WIDTH} characters more)` : '';
    return `      ${toOneLine(key, 40)}: ${toOneLine(text, WIDTH)}${more}`;
  });
  const why = describeQuestion(verdict).map((line) => `    ${toOneLine(line, 2 * WIDTH)}`);
  const rule = verdict.always && toOneLine(describeRule(verdict.always), 2 * WIDTH);
  return [
    `  The agent wants to run ${name}${args.length > 0 ? ' with' : ''}`,
    ...args,
    '  Why you are asked:',
    ...why,
    ...(rule ? [`  "always" would allow ${rule}`] : []),
    `  Run it? y: yes; ${rule ? 'a: always; ' : ''}n: no  (y/${rule ? 'a/' : ''}n) `,
  ].join('\n');
}

function toApproval(answer: string): Approval {
  if (/^\s*a(lways)?\s*$/i.test(answer)) return 'always';
  return /^\s*y(es)?\s*$/i.test(answer);
}
