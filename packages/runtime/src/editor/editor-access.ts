// What the person at the editor does for the agent: approves calls, and lends the editor's own files and
// terminals where the editor offers them. Files that are open there are read and written as the person sees them.

import {
  type AgentContext,
  type ClientCapabilities,
  methods,
  type PermissionOption,
  type RequestPermissionRequest,
  type TerminalOutputResponse,
  type ToolCallUpdate,
  type WaitForTerminalExitResponse,
} from '@agentclientprotocol/sdk';
import { FabricError, orAborted } from '@starloom/core';
import type { ToolContext } from '@starloom/sdk';
import { deadlineSignal } from '@starloom/wire';
import { describeQuestion, describeRule } from '../core/permission.ts';
import {
  type Approve,
  CALL,
  type CoreContext,
  type EditorAccess,
  type Verdict,
} from '../core/seams.ts';
import type { ProgramOutput, ProgramRun } from '../plugins/run-program.ts';
import { failure } from '../reasons.ts';
import { describeCall, type ToolView, textContent } from './prompt-updates.ts';

/** "Always" says what it would allow; where that is not known it is not offered. */
function optionsFor({ always }: Verdict): PermissionOption[] {
  const lasting: PermissionOption[] = always
    ? [{ optionId: 'always', name: `Always: ${describeRule(always)}`, kind: 'allow_always' }]
    : [];
  return [
    { optionId: 'once', name: 'Allow', kind: 'allow_once' },
    ...lasting,
    { optionId: 'no', name: 'Reject', kind: 'reject_once' },
  ];
}

interface ConnectedEditor {
  readonly client: AgentContext;
  readonly viewOf: (sessionId: string) => ToolView;
}

/**
 * Asks in the editor for the approval of a tool call. It is created before the agent, which is opened with
 * it; until an editor has connected it approves nothing.
 */
export class EditorApprovals {
  #editor: ConnectedEditor | undefined;

  connect(editor: ConnectedEditor): void {
    this.#editor = editor;
  }

  readonly approve: Approve = async ({ call, sessionId, signal }, _tool, verdict) => {
    if (!this.#editor) return false;
    const { client, viewOf } = this.#editor;
    const { sessionUpdate: _, ...described } = describeCall(call, viewOf(sessionId));
    const content = describeQuestion(verdict).map(textContent);
    const toolCall: ToolCallUpdate = { ...described, status: 'pending', content };
    const params: RequestPermissionRequest = { sessionId, toolCall, options: optionsFor(verdict) };
    const { outcome } = await client.request(methods.client.session.requestPermission, params, {
      cancellationSignal: signal,
    });
    if (outcome.outcome !== 'selected') return false;
    return outcome.optionId === 'always' ? 'always' : outcome.optionId === 'once';
  };
}

/** `undefined` for an editor that offers neither. */
export function toEditorAccess(
  client: AgentContext,
  { fs = {}, terminal }: ClientCapabilities,
): EditorAccess | undefined {
  if (!fs.readTextFile && !fs.writeTextFile && !terminal) return undefined;
  const { fs: files } = methods.client;
  return {
    ...(fs.readTextFile && {
      readFile: async (path, { sessionId, signal }) => {
        const asked = client.request(files.readTextFile, { sessionId, path });
        return (await inEditor(asked, 'read', path, signal)).content;
      },
    }),
    ...(fs.writeTextFile && {
      writeFile: async (path, content, { sessionId, signal }) => {
        const asked = client.request(files.writeTextFile, { sessionId, path, content });
        await inEditor(asked, 'write', path, signal);
      },
    }),
    ...(terminal && { run: (program, context) => runInTerminal(client, program, context) }),
  };
}

async function inEditor<T>(
  asked: Promise<T>,
  act: string,
  path: string,
  signal: AbortSignal,
): Promise<T> {
  return await orAborted(asked, signal).catch((cause: unknown) => {
    if (signal.aborted) throw FabricError.from(signal.reason);
    throw failure('editor_failed', { act, path, why: String(Object(cause).message) }, { cause });
  });
}

const TOO_LONG = new FabricError('TIMEOUT', 'The program took too long');

/** Whatever happens, the terminal is released, and with it what still runs in it. */
async function runInTerminal(
  client: AgentContext,
  { command, args, cwd, timeoutMs: ms, maxBytes, signal: parent }: ProgramRun,
  context: ToolContext,
): Promise<ProgramOutput> {
  const { terminal } = methods.client;
  const { sessionId } = context;
  using deadline = deadlineSignal({ ms, parent, reason: TOO_LONG });
  const { signal } = deadline;
  const created = client.request(terminal.create, {
    ...{ sessionId, command, cwd },
    args: [...args],
    outputByteLimit: maxBytes,
  });
  const { terminalId } = await inEditor(created, 'run', command, signal);
  const one = { sessionId, terminalId };
  const { [CALL]: inner } = context as Partial<CoreContext>;
  inner?.emit('EXEC:TERMINAL', { call: inner.request.call.id, terminal: terminalId });
  try {
    const waiting = client.request<WaitForTerminalExitResponse>(terminal.waitForExit, one);
    const ended = await orAborted(waiting, signal).catch(FabricError.from);
    if (FabricError.is(ended)) {
      await client.request(terminal.kill, one).catch(() => {});
      if (ended !== TOO_LONG) throw parent.aborted ? FabricError.from(parent.reason) : ended;
    }
    const { output } = await client.request<TerminalOutputResponse>(terminal.output, one);
    const exit = FabricError.is(ended) ? {} : ended;
    return {
      exit: { code: exit.exitCode ?? null, signal: (exit.signal ?? null) as NodeJS.Signals | null },
      stdout: output,
      stderr: '',
      ...(FabricError.is(ended) && { stopped: 'timeout' as const }),
    };
  } finally {
    await client.request(terminal.release, one).catch(() => {});
  }
}
