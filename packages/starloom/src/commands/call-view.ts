import type { Artifact, FabricEvent } from '@starloom/core';
import { goOnCommand } from '../ask/answers.ts';
import { artifactLine, isHere } from '../files/artifacts.ts';
import type { Terminal } from '../terminal.ts';
import { paint, toOneLine, toPlainText, toSafeJson } from '../terminal-text.ts';
import type { ToolPayloads } from '../tool-payloads.ts';
import type { CallCommandOptions } from './call.ts';
import type { Shorten } from './call-request.ts';

const ARGUMENTS = 100;
const NAME = 200;

type DataOf<Type> = Extract<FabricEvent, { type: Type }>['data'];
type View = Pick<Terminal, 'write' | 'print' | 'tell' | 'showStatus' | 'isWatched'>;

/** A call as it happens: tokens to stdout, progress, tool calls and detours to stderr. */
export class CallView {
  readonly #terminal: View;
  #said = '';
  #isMidLine = false;
  readonly #artifacts = new Set<string>();

  constructor(terminal: View) {
    this.#terminal = terminal;
  }

  show({ type, agent_id, data }: FabricEvent): void {
    switch (type) {
      case 'token':
        this.#token(data.text);
        break;
      case 'progress':
        this.#progress(agent_id, data);
        break;
      case 'tool_call':
        this.#toolCall(agent_id, data);
        break;
      case 'artifact':
        this.#artifact(agent_id, data);
        break;
      case 'status':
        this.#status(data.state, data.message);
        break;
    }
  }

  /** The answer, unless the tokens were all of it. */
  finish(answer: string): void {
    this.settle();
    if (answer === '' || this.#said.trim() !== answer.trim()) this.#terminal.print(answer);
  }

  settle(): void {
    if (this.#isMidLine) this.#terminal.write('\n');
    this.#isMidLine = false;
  }

  #token(text: string): void {
    this.#said += text;
    this.#terminal.write(text);
    const shown = toPlainText(text);
    if (shown !== '') this.#isMidLine = !shown.endsWith('\n');
  }

  #progress(agentId: string | null, { percent, message }: DataOf<'progress'>): void {
    const words = [
      ...(percent === undefined ? [] : [`${Math.round(percent)} %`]),
      ...(message ? [toOneLine(message)] : []),
    ].join(' ');
    if (words === '') return;
    // Over words that are on the same line, a status would hide them.
    if (this.#terminal.isWatched && !this.#isMidLine)
      this.#terminal.showStatus(`${agentId}: ${words}`);
    else this.#note(`${agentId}: ${words}`);
  }

  #toolCall(agentId: string | null, { name, args, phase }: DataOf<'tool_call'>): void {
    const given = args === undefined ? '' : ` ${toOneLine(JSON.stringify(args) ?? '', ARGUMENTS)}`;
    if (phase === 'end') this.#note(`${agentId} has the answer of ${toOneLine(name)}`);
    else this.#note(`${agentId} uses ${toOneLine(name)}${given}`);
  }

  /** Once for each: its name and size are shown with the answer. */
  #artifact(agentId: string | null, { id, name }: DataOf<'artifact'>): void {
    if (this.#artifacts.has(id)) return;
    this.#artifacts.add(id);
    this.#note(`${agentId} writes ${toOneLine(name ?? id, NAME)}`);
  }

  #status(state: string, message: string | undefined): void {
    if (state === 'discard') {
      this.#note('what was said so far no longer counts');
      this.#said = '';
    } else if (state === 'retrying' || state === 'degraded') {
      this.#note(message ?? state);
    }
  }

  #note(text: string): void {
    this.settle();
    this.#terminal.tell(paint('dim', `(${toOneLine(text)})`));
  }
}

type Payload = ToolPayloads['fabric.call'];

export async function showAnswer(
  terminal: Terminal,
  view: CallView,
  payload: Payload,
  { artifacts, saved }: { artifacts: readonly Artifact[]; saved: readonly string[] | undefined },
  { capability, shorten }: { readonly capability: string; readonly shorten: Shorten },
): Promise<void> {
  const { result, agent_id: agentId, conversation_id: conversationId } = payload;
  view.finish(result.answer);
  for (const { title, uri } of result.citations ?? []) {
    terminal.tell(`  source: ${title ?? ''} ${uri ?? ''}`);
  }
  for (const artifact of artifacts) terminal.tell(`  artifact: ${artifactLine(artifact)}`);
  if (artifacts.some(isHere) && !saved)
    terminal.tell(paint('dim', '  (--save <folder> writes them)'));
  for (const path of saved ?? []) terminal.tell(`  saved: ${path}`);
  terminal.tell(paint('dim', trailOf(payload)));
  if (conversationId !== undefined) {
    const name = await shorten(agentId, conversationId);
    const command = goOnCommand({ agentId, capability, conversationId: name }, '…');
    terminal.tell(paint('dim', `to go on: "${command}"`));
  }
}

/** A stream has its events on stdout; what they do not say goes to stderr. */
export function printJson(
  terminal: Terminal,
  payload: Payload,
  saved: readonly string[] | undefined,
  { stream }: CallCommandOptions,
): void {
  const { conversation_id } = payload;
  if (!stream) terminal.json({ ...payload, saved });
  else if (conversation_id || saved) terminal.tell(toSafeJson({ conversation_id, saved }));
}

function trailOf({ agent_id, attempts, trace }: Payload): string {
  const trail = attempts
    .map((attempt) => `${attempt.agent_id} ${attempt.code ?? 'ok'} ${attempt.ms} ms`)
    .join(', then ');
  return `answered by ${agent_id} (${trail}), trace ${trace.trace_id}`;
}
