import { createTrace, FabricError } from '@starloom/core';
import { type Agent, type Approve, listSlashCommands } from '@starloom/runtime';
import { reportError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import type { TurnCommandOptions } from './agent.ts';
import { approveBy } from './agent-approve.ts';
import { ChatInput } from './agent-chat-input.ts';
import { openCommandAgent } from './agent-open.ts';
import { Refusals } from './agent-refusals.ts';
import { toPlainText } from './agent-text.ts';
import { TurnView } from './agent-turn-view.ts';

interface Chat {
  readonly agent: Agent;
  readonly terminal: Terminal;
  readonly view: TurnView;
  readonly sessionId: string;
}

/** What people type to leave, beside Ctrl-D. */
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
  const turns = new ChatTurn();
  let input: ChatInput | undefined;
  const approve = approveWith(yes, isLive ? view : undefined, () => input);
  await using agent = await openCommandAgent(terminal, { path, json, approve });
  const commands = () => [
    'help',
    'exit',
    ...listSlashCommands(agent.tools()).map(([name]) => name),
  ];
  using lines = new ChatInput({
    isLive,
    prompt: `${toPlainText(agent.name)} › `,
    commands,
    onInterrupt: () => turns.cancel() || lines.clear('(Ctrl-D ends the chat)\n'),
  });
  input = lines;
  process.on('SIGINT', () => turns.cancel() || lines[Symbol.dispose]());
  process.on('SIGTERM', () => {
    turns.cancel();
    lines[Symbol.dispose]();
  });
  if (isLive)
    terminal.tell('/help lists commands, Tab completes them; Ctrl-C cancels, Ctrl-D or /exit ends');
  const sessionId = session ?? crypto.randomUUID();
  for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
    if (line.trim() === '') continue;
    if (LEAVING.has(line.trim())) break;
    const code = await turns.run((signal) =>
      takeTurn({ agent, terminal, view, sessionId }, line, signal, json),
    );
    if (code !== 0 && !isLive) terminal.exitCode = code;
  }
  const again = ['starloom agent chat', ...(path === undefined ? [] : [path])].join(' ');
  if (isLive) terminal.tell(`\ngo on with: ${again} --session ${sessionId}`);
}

/** The exit code that a command of this one turn would have. */
async function takeTurn(
  { agent, terminal, view, sessionId }: Chat,
  line: string,
  signal: AbortSignal,
  json: boolean,
): Promise<number> {
  const trace = createTrace();
  try {
    const refusals = new Refusals();
    const result = await agent.turn(line, {
      sessionId,
      trace,
      signal,
      onEvent: (event) => {
        refusals.note(event);
        if (!json) view.show(event);
      },
    });
    const { segments, steps, usage } = result;
    const { refused } = refusals;
    if (json) terminal.print(JSON.stringify({ segments, steps, usage, trace, refused }));
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

/** The turn that Ctrl-C is about. */
class ChatTurn {
  #controller: AbortController | undefined;

  async run<T>(turn: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#controller = new AbortController();
    try {
      return await turn(this.#controller.signal);
    } finally {
      this.#controller = undefined;
    }
  }

  /** False when none runs. */
  cancel(): boolean {
    if (this.#controller === undefined) return false;
    this.#controller.abort(new FabricError('CANCELLED', 'The turn was cancelled'));
    return true;
  }
}
