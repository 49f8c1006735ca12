import { createInterface, type Interface } from 'node:readline';
import { createTrace, ERRORS, FabricError } from '@starloom/core';
import { type Agent, type Approve, listSlashCommands } from '@starloom/runtime';
import { reportError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import { toPlainText } from '../terminal-text.ts';
import type { ExecOptions, TurnCommandOptions } from './agent.ts';
import { approveBy, approveOnce, openCommandAgent } from './agent-open.ts';
import { describeRefusal, describeSegments, Refusals, TurnView } from './agent-turn-view.ts';

interface Chat {
  readonly agent: Agent;
  readonly terminal: Terminal;
  readonly view: TurnView;
  readonly sessionId: string;
  readonly json: boolean;
}

const LEAVING: ReadonlySet<string> = new Set(['/exit', '/quit']);

/** For `/help`: the agent knows nothing of the chat around it. */
const LEAVE_HELP = '/exit  Ends the chat; so do /quit and Ctrl-D.';

/** Line by line until the input ends; a turn that fails or is cancelled is not the end. */
export async function chat(
  terminal: Terminal,
  path: string | undefined,
  { session, yes, json = false }: TurnCommandOptions,
): Promise<void> {
  const isLive = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const view = new TurnView(terminal, isLive);
  let turn: AbortController | undefined;
  const cancel = () => {
    turn?.abort(new FabricError('CANCELLED', 'The turn was cancelled'));
    return turn !== undefined;
  };
  let input: ChatInput | undefined;
  const approve = approveWith(yes, isLive ? view : undefined, () => input);
  await using agent = await openCommandAgent(terminal, { path, json, approve });
  const own = () => listSlashCommands(agent.tools()).map(([name]) => name);
  using lines = new ChatInput({
    isLive,
    prompt: `${toPlainText(agent.name)} › `,
    commands: () => ['help', 'exit', ...own()],
    onInterrupt: () => cancel() || lines.clear('(Ctrl-D ends the chat)\n'),
  });
  input = lines;
  process.on('SIGINT', () => cancel() || lines[Symbol.dispose]());
  process.on('SIGTERM', () => {
    cancel();
    lines[Symbol.dispose]();
  });
  if (isLive)
    terminal.tell('/help lists commands, Tab completes them; Ctrl-C cancels, Ctrl-D or /exit ends');
  const sessionId = session ?? crypto.randomUUID();
  for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
    if (line.trim() === '') continue;
    if (LEAVING.has(line.trim())) break;
    turn = new AbortController();
    const code = await takeTurn({ agent, terminal, view, sessionId, json }, line, turn.signal);
    turn = undefined;
    if (code !== 0 && !isLive) terminal.exitCode = code;
  }
  const again = ['starloom agent chat', ...(path === undefined ? [] : [path])].join(' ');
  if (isLive) terminal.tell(`\ngo on with: ${again} --session ${sessionId}`);
}

/** The exit code that a command of this one turn would have. */
async function takeTurn(
  { agent, terminal, view, sessionId, json }: Chat,
  line: string,
  signal: AbortSignal,
): Promise<number> {
  const trace = createTrace();
  try {
    const refusals = new Refusals();
    const { segments, steps, usage } = await agent.turn(line, {
      sessionId,
      trace,
      signal,
      onEvent: (event) => {
        refusals.note(event);
        if (!json) view.show(event);
      },
    });
    const { refused } = refusals;
    if (json) terminal.json({ segments, steps, usage, trace, refused });
    else if (steps === 0) {
      view.output(segments);
      if (line.trim() === '/help') terminal.print(LEAVE_HELP);
    }
    return 0;
  } catch (error) {
    view.settle();
    return reportError(error, { json, tell: terminal.tell, trace });
  } finally {
    view.settle();
  }
}

function approveWith(
  yes: true | undefined,
  view: TurnView | undefined,
  input: () => ChatInput | undefined,
): Approve | undefined {
  if (yes) return async () => true;
  if (view === undefined) return undefined;
  return approveBy(async (question, signal) => {
    view.settle();
    return await input()?.ask(question, signal);
  });
}

/** One turn, and its answer. A failure has the trace of the turn. */
export async function execTurn(
  terminal: Terminal,
  words: readonly string[],
  { agent: path, session, yes, allowRefused, json = false }: ExecOptions,
): Promise<void> {
  const approve = approveOnce(terminal, { yes, json });
  await using agent = await openCommandAgent(terminal, { path, json, approve });
  const trace = createTrace();
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new FabricError('CANCELLED', 'Interrupted'));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  const refusals = new Refusals();
  try {
    const { segments, steps, usage } = await agent.turn(words.join(' '), {
      trace,
      signal: interrupted.signal,
      onEvent: (event) => {
        const refusal = refusals.note(event);
        if (refusal && !json) terminal.tell(describeRefusal(refusal));
      },
      ...(session !== undefined && { sessionId: session }),
    });
    const { refused } = refusals;
    if (json) terminal.json({ segments, steps, usage, trace, refused });
    else terminal.print(describeSegments(segments));
    if (!allowRefused && refused.length > 0) terminal.exitCode = ERRORS.POLICY_DENIED.exit;
  } catch (error) {
    terminal.exitCode = reportError(error, { json, tell: terminal.tell, trace });
  }
}

// The lines that the user types, one at a time. What is typed while a turn runs waits for the next
// one; a question that is open takes the next line first. Ctrl-C never ends it, Ctrl-D does.

interface ChatInputOptions {
  readonly isLive: boolean;
  readonly prompt: string;
  readonly commands: () => readonly string[];
  readonly onInterrupt: () => void;
}

class ChatInput implements Disposable {
  readonly #lines: Interface;
  readonly #isLive: boolean;
  readonly #waiting: string[] = [];
  #taker: ((line: string | undefined) => void) | undefined;
  #isClosed = false;

  constructor({ isLive, prompt, commands, onInterrupt }: ChatInputOptions) {
    this.#isLive = isLive;
    this.#lines = createInterface({
      input: process.stdin,
      terminal: isLive,
      prompt,
      ...(isLive && {
        output: process.stdout,
        completer: (line: string) => complete(line, commands()),
      }),
    });
    this.#lines.on('line', (line) => {
      if (this.#taker) this.#taker(line);
      else this.#waiting.push(line);
    });
    this.#lines.on('SIGINT', onInterrupt);
    this.#lines.on('close', () => {
      this.#isClosed = true;
      this.#taker?.(undefined);
    });
  }

  async next(): Promise<string | undefined> {
    const line = this.#waiting.shift();
    if (line !== undefined) return line;
    if (this.#isClosed) return undefined;
    if (this.#isLive) this.#lines.prompt();
    return await this.#take();
  }

  /** A line typed after the question was shown; `undefined` when none comes. */
  async ask(question: string, signal: AbortSignal): Promise<string | undefined> {
    if (this.#isClosed || signal.aborted) return undefined;
    const before = this.#lines.getPrompt();
    const split = question.lastIndexOf('\n') + 1;
    process.stdout.write(question.slice(0, split));
    this.#lines.setPrompt(question.slice(split));
    this.#lines.prompt();
    const cancel = () => this.#taker?.(undefined);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const line = await this.#take();
      if (line === undefined) process.stdout.write('\n');
      return line;
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#lines.setPrompt(before);
    }
  }

  /** Drops what is half typed, and shows the prompt again. */
  clear(hint: string): void {
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
    process.stdout.write(`\n${hint}`);
    this.#lines.prompt();
  }

  /** What was typed ahead is forgotten. */
  [Symbol.dispose](): void {
    this.#waiting.length = 0;
    this.#lines.close();
  }

  #take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#taker = (line) => {
        this.#taker = undefined;
        resolve(line);
      };
    });
  }
}

/** Names of commands, while the first word is typed. */
export function complete(line: string, commands: readonly string[]): [string[], string] {
  if (!/^\/\S*$/.test(line)) return [[], line];
  const found = commands.map((name) => `/${name} `).filter((name) => name.startsWith(line));
  return [found, line];
}
