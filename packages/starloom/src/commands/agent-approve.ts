// Who says yes to a tool call that asks for it: the option, a person at the terminal, or nobody.

import { createInterface } from 'node:readline/promises';
import type { Approve, ToolRequest, Verdict } from '@starloom/runtime';
import { toOneLine } from './agent-text.ts';

/** Of arguments; what is left out is counted, since a yes is a yes to all of it. */
const WIDTH = 2_000;

/** `undefined` where nobody can be asked. */
export function approveOnce(options: {
  readonly yes: true | undefined;
  readonly json: boolean;
}): Approve | undefined {
  if (options.yes) return async () => true;
  if (options.json || !process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  let before: Promise<unknown> = Promise.resolve();
  return (request, _tool, verdict) => {
    const answer = before.then(() => ask(request, verdict));
    before = answer.catch(() => {});
    return answer;
  };
}

/** The call as it will run, and why it is asked about. */
export function approvalQuestion({ call }: ToolRequest, { reasons }: Verdict): string {
  const all = JSON.stringify(call.args);
  const more = all.length > WIDTH ? ` (${all.length - WIDTH} characters more)` : '';
  const args = `${toOneLine(all, WIDTH)}${more}`;
  const why = reasons.map((reason) => `    ${toOneLine(reason, WIDTH)}`);
  return [`  ${toOneLine(call.name, WIDTH)} ${args}`, ...why, '  Run it? (y/n) '].join('\n');
}

export function isYes(answer: string): boolean {
  return /^\s*y(es)?\s*$/i.test(answer);
}

async function ask(request: ToolRequest, verdict: Verdict): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const cancelled = new Promise<string>((resolve) => {
    lines.once('SIGINT', () => {
      resolve('');
      process.emit('SIGINT');
    });
    lines.once('close', () => resolve(''));
  });
  try {
    const question = approvalQuestion(request, verdict);
    const answer = lines.question(question, { signal: request.signal });
    return isYes(await Promise.race([answer, cancelled]));
  } finally {
    lines.close();
  }
}
