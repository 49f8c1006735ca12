import { createTrace, ERRORS, FabricError } from '@starloom/core';
import { reportError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import type { ExecOptions } from './agent.ts';
import { approveOnce } from './agent-approve.ts';
import { openCommandAgent } from './agent-open.ts';
import { describeRefusal, Refusals } from './agent-refusals.ts';
import { describeSegments } from './agent-text.ts';

/** One turn, and its answer. A failure has the trace of the turn. */
export async function execTurn(
  terminal: Terminal,
  prompt: string,
  { agent: path, session, yes, strict, json = false }: ExecOptions,
): Promise<void> {
  const approve = approveOnce({ yes, json });
  await using agent = await openCommandAgent(terminal, { path, json, approve });
  const trace = createTrace();
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new FabricError('CANCELLED', 'Interrupted'));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  const refusals = new Refusals();
  try {
    const { segments, steps, usage } = await agent.turn(prompt, {
      trace,
      signal: interrupted.signal,
      onEvent: (event) => {
        const refusal = refusals.note(event);
        if (refusal && !json) terminal.tell(describeRefusal(refusal));
      },
      ...(session !== undefined && { sessionId: session }),
    });
    const { refused } = refusals;
    if (json) terminal.print(JSON.stringify({ segments, steps, usage, trace, refused }));
    else terminal.print(describeSegments(segments));
    if (strict && refused.length > 0) terminal.exitCode = ERRORS.POLICY_DENIED.exit;
  } catch (error) {
    terminal.exitCode = reportError(error, { json, tell: terminal.tell, trace });
  }
}
