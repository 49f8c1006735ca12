import { createTrace, FabricError } from '@starloom/core';
import type { AgentEvents } from '@starloom/runtime';
import { reportError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import type { ExecOptions } from './agent.ts';
import { approveOnce } from './agent-approve.ts';
import { openCommandAgent } from './agent-open.ts';
import { describeSegments, toPlainText } from './agent-text.ts';

/** One turn, and its answer. A failure has the trace of the turn. */
export async function execTurn(
  terminal: Terminal,
  prompt: string,
  { agent: path, session, yes, json = false }: ExecOptions,
): Promise<void> {
  const approve = approveOnce({ yes, json });
  await using agent = await openCommandAgent(terminal, { path, json, approve });
  const trace = createTrace();
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new FabricError('CANCELLED', 'It was interrupted'));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  try {
    const { segments, steps, usage } = await agent.turn(prompt, {
      trace,
      signal: interrupted.signal,
      onEvent: (event) => {
        if (event.type === 'SAFETY:DENIED' && !json) terminal.tell(describeRefusal(event.data));
      },
      ...(session !== undefined && { sessionId: session }),
    });
    if (json) terminal.print(JSON.stringify({ segments, steps, usage, trace }));
    else terminal.print(describeSegments(segments));
  } catch (error) {
    terminal.exitCode = reportError(error, { json, tell: terminal.tell, trace });
  }
}

function describeRefusal({ call, reasons }: AgentEvents['SAFETY:DENIED']): string {
  return toPlainText(`refused: ${call.name}: ${reasons.join('; ')}`);
}
