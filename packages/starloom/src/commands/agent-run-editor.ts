import { EditorApprovals, EditorFace, serveEditor } from '@starloom/runtime/editor';
import { untilStopped } from '../signals.ts';
import type { Terminal } from '../terminal.ts';
import type { RunOptions } from './agent.ts';
import { createCommandLog, openCommandAgent } from './agent-open.ts';

/** Serves the editor that started this process, until it leaves. Approval is asked for in the editor. */
export async function runForEditor(
  terminal: Terminal,
  path: string | undefined,
  { json = false }: RunOptions,
): Promise<void> {
  const stopped = untilStopped();
  const approvals = new EditorApprovals();
  const { approve } = approvals;
  await using agent = await openCommandAgent(terminal, { path, json, approve });
  const face = new EditorFace({ agent, approvals, log: createCommandLog(terminal, json) });
  const served = serveEditor(face, process.stdin, process.stdout);
  await Promise.race([served.closed, stopped]);
  served.close();
  process.stdin.destroy();
}
