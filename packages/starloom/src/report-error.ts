// The one place where a failure is shown to people or programs, and becomes an exit code.

import { type Problem, placeOf, problemsOf } from '@starloom/config/problem';
import {
  closestWord,
  FabricError,
  inputRequestSchema,
  isObject,
  type Trace,
  traceSchema,
} from '@starloom/core';
import { z } from 'zod';
import { questionLines } from './ask/questions.ts';
import { line, paint, toOneLine, toPlainText, toSafeJson, toVisible } from './terminal-text.ts';

interface ReportOptions {
  readonly json: boolean;
  readonly tell: (text: string) => void;
  readonly trace?: Trace;
}

export const EXIT_BAD_CONFIGURATION = 78;

/** `details.reason` when no gateway answers: a failure that no gateway reports. */
export const GATEWAY_UNREACHABLE = 'gateway_unreachable';

/** Exit codes that only the command line has, by `details.reason`. */
const EXIT_BY_REASON: Readonly<Record<string, number>> = {
  usage: 64,
  [GATEWAY_UNREACHABLE]: 69,
  config: EXIT_BAD_CONFIGURATION,
};

/** What to type for a tool that a fix of the gateway names. */
const COMMANDS: Readonly<Record<string, string>> = {
  'fabric.agent.list': 'starloom agents',
  'fabric.job.list': 'starloom jobs',
  'fabric.job.status': 'starloom jobs show <job>',
  'fabric.job.retry': 'starloom jobs retry <job>',
};

export function reportError(thrown: unknown, options: ReportOptions): number {
  const error = FabricError.from(thrown);
  const trace = options.trace ?? traceOf(error.cause);
  const payload = error.toPayload(trace);
  const json = { ...payload, error: { ...payload.error, code: codeOf(error) } };
  options.tell(options.json ? toSafeJson(json) : forPeople(error, trace));
  return EXIT_BY_REASON[String(error.details.reason)] ?? error.row.exit;
}

/** The code of the error; of a gateway that does not answer, one of the command line's own. */
function codeOf({ code, details }: FabricError): string {
  return details.reason === GATEWAY_UNREACHABLE ? 'GATEWAY_UNREACHABLE' : code;
}

/** The fix as commands: at a terminal there are no tools. */
export function typedFix({ fix, job_id }: FabricError['details']): string | undefined {
  if (typeof fix !== 'string') return undefined;
  return fix.replace(/\bfabric\.[a-z.]*[a-z]/g, (tool) => {
    const command = COMMANDS[tool]?.replace('<job>', String(job_id ?? '<job>'));
    return command === undefined ? tool : `"${command}"`;
  });
}

/** A failure that a gateway answered with has its payload as cause. */
function traceOf(cause: unknown): Trace | null {
  const parsed = z.object({ trace: traceSchema }).safeParse(cause);
  return parsed.success ? parsed.data.trace : null;
}

/** A mistake in the command line itself, from the parser's message; without a fix the help is one. */
export function toUsageError(message: string, fix?: string): FabricError {
  const text = message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
  const details = { reason: 'usage', ...(fix !== undefined && { fix }) };
  return new FabricError('BAD_INPUT', text, { details });
}

/** Names the help of a command to a person who used it wrongly. */
export function withHelp(thrown: unknown, command: string): unknown {
  const isUsage = FabricError.is(thrown) && thrown.details.reason === 'usage';
  return isUsage ? thrown.with({ fix: `see "${command} --help"` }) : thrown;
}

export function nearestOr(otherwise: string, word: string, known: readonly string[]): string {
  const meant = closestWord(word, known);
  return meant === undefined ? otherwise : `did you mean "${meant}"?`;
}

/** `file:line:column  key  message`, and the fix below it. */
export function formatProblem(problem: Problem): string {
  const message = problem.message.replace(`; ${problem.fix}`, '');
  const what = [placeOf(problem), problem.key, message].filter((part) => part !== '');
  return `  ${what.join('  ')}\n    fix: ${problem.fix}`;
}

function forPeople(error: FabricError, trace: Trace | null): string {
  const problems = problemsOf(error);
  const { upstream } = error.details;
  const what = problems
    ? `the configuration has ${count(problems.length, 'problem')}`
    : toVisible(error.message);
  const facts = [...askedLines(error), ...trailLines(error.details), ...upstreamLines(upstream)];
  const lines = [
    `${paint('red', `error ${codeOf(error)}`)}: ${what}`,
    ...(problems ?? []).map(formatProblem),
    ...facts.map((text) => `  ${text}`),
  ];
  const fix = typedFix(error.details);
  // What it points to stands right above.
  const isShown = upstream !== undefined && /details\.upstream/.test(fix ?? '');
  if (fix !== undefined && !isShown) lines.push(line`  fix: ${fix}`);
  if (error.code === 'INTERNAL' && error.cause instanceof Error) {
    lines.push(`  cause: ${error.cause.stack ?? error.cause.message}`);
  }
  if (trace !== null) lines.push(`  trace: ${trace.trace_id}`);
  return lines.join('\n');
}

function askedLines({ code, details }: FabricError): string[] {
  if (code !== 'INPUT_REQUIRED') return [];
  const parsed = z.array(inputRequestSchema).safeParse(details.inputs);
  const agentId = typeof details.agent_id === 'string' ? details.agent_id : 'the agent';
  return (parsed.data ?? []).flatMap((question) => questionLines(question, agentId));
}

function trailLines({ primary, fallbacks }: FabricError['details']): string[] {
  if (typeof primary !== 'string' || !Array.isArray(fallbacks) || fallbacks.length === 0) return [];
  return [line`tried: ${[primary, ...fallbacks].join(', then ')}`];
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

const MAX_LINES = 12;
const LABELS: Readonly<Record<string, string>> = {
  exit_code: 'exit code',
  stderr: 'its stderr',
  stdout: 'its stdout',
  status: 'status',
  body: 'it answered',
  message: 'it said',
  content: 'it answered',
};

/** What an agent's side said about a failure, one fact a line: `details.upstream` for people. */
export function upstreamLines(upstream: unknown): string[] {
  if (upstream === undefined || upstream === null || upstream === '') return [];
  if (typeof upstream !== 'object') return labelLines('it said', String(upstream));
  if (Array.isArray(upstream)) return labelLines('it said', toText(upstream));
  return Object.entries(upstream).flatMap(([name, value]) => {
    if (name === 'details' && isObject(value)) return upstreamLines(value);
    const text = toText(value);
    const label = LABELS[name] ?? toOneLine(name.replaceAll('_', ' '));
    return text === '' ? [] : labelLines(label, text);
  });
}

/** A short text behind its label, a longer one below it. */
function labelLines(label: string, text: string): string[] {
  const lines = toPlainText(text).replaceAll('\t', '  ').trimEnd().split('\n');
  if (lines.length === 1) return [`${label}: ${lines[0]}`];
  const left = lines.length > MAX_LINES ? [`  … ${lines.length - MAX_LINES} lines before`] : [];
  return [`${label}:`, ...left, ...lines.slice(-MAX_LINES).map((line) => `  ${line}`)];
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) {
    return value.join('\n');
  }
  if (Array.isArray(value) && value.every(isText)) return value.map(({ text }) => text).join('\n');
  return JSON.stringify(value);
}

function isText(value: unknown): value is { readonly text: string } {
  return typeof value === 'object' && value !== null && 'text' in value;
}
