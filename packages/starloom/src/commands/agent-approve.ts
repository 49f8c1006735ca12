// Who approves a tool call that needs it: the option --yes, a person at the terminal, or no one.

import { createInterface } from 'node:readline/promises';
import type { Approval, Approve, ToolRequest, Verdict } from '@starloom/runtime';
import { toOneLine } from './agent-text.ts';

/** Of one argument; what is left out is counted, since a yes covers all of it. */
const WIDTH = 300;

type Ask = (question: string, signal: AbortSignal) => Promise<string | undefined>;

/** `undefined` where no person can be asked. */
export function approveOnce(options: {
  readonly yes: true | undefined;
  readonly json: boolean;
}): Approve | undefined {
  if (options.yes) return async () => true;
  if (options.json || !process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  return approveBy(askAtTerminal);
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

/** The call as it will run, why it needs approval, and the answers. */
export function approvalQuestion({ call }: ToolRequest, { reasons }: Verdict): string {
  const name = toOneLine(call.name, WIDTH);
  const args = Object.entries(Object(call.args)).map(([key, value]) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    const more = text.length > WIDTH ? ` (${text.length - WIDTH} characters more)` : '';
    return `      ${toOneLine(key, 40)}: ${toOneLine(text, WIDTH)}${more}`;
  });
  const why = reasons.map((reason) => `    ${toOneLine(reason, 2 * WIDTH)}`);
  return [
    `  The agent wants to run ${name}${args.length > 0 ? ' with' : ''}`,
    ...args,
    '  Why you are asked:',
    ...why,
    `  Run it? y: yes, this call; a: always for ${name}; n: no  (y/a/n) `,
  ].join('\n');
}

export function toApproval(answer: string): Approval {
  if (/^\s*a(lways)?\s*$/i.test(answer)) return 'always';
  return /^\s*y(es)?\s*$/i.test(answer);
}

async function askAtTerminal(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const cancelled = new Promise<string>((resolve) => {
    lines.once('SIGINT', () => {
      resolve('');
      process.emit('SIGINT');
    });
    lines.once('close', () => resolve(''));
  });
  try {
    return await Promise.race([lines.question(question, { signal }), cancelled]);
  } finally {
    lines.close();
  }
}
