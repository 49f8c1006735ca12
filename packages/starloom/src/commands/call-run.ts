import { FabricError, type FabricEvent } from '@starloom/core';
import { connectToGateway, type GatewayClient } from '../gateway-client.ts';
import { paint } from '../paint.ts';
import { toSafeJson } from '../plain-text.ts';
import type { Terminal } from '../terminal.ts';
import { CallView } from './call-view.ts';
import { didYouMean } from './did-you-mean.ts';
import type { CallCommandOptions } from './fabric.ts';
import { readTarget, type Target } from './target.ts';

/** How much longer than the call itself we wait for its answer. */
const GRACE_MS = 5_000;
const DEFAULT_TIMEOUT_MS = 60_000;

export async function callAgent(
  terminal: Terminal,
  words: readonly string[],
  options: CallCommandOptions,
): Promise<void> {
  await using client = await connectToGateway(terminal);
  using interrupted = onInterrupt();
  const target = await readTarget(client, words);
  const view = new CallView(terminal);
  try {
    const payload = await run(client, target, options, {
      signal: interrupted.signal,
      onEvent: (event) => {
        if (options.json) terminal.print(toSafeJson(event));
        else view.show(event);
      },
    });
    if (payload.job_id !== undefined) {
      terminal.print(options.json ? toSafeJson(payload) : payload.job_id);
      terminal.tell(`the job is ${payload.state}; follow it with "starloom jobs watch"`);
      return;
    }
    if (options.json) {
      if (!options.stream) terminal.print(toSafeJson(payload));
      return;
    }
    view.finish(payload.result.answer);
    for (const { title, uri } of payload.result.citations ?? []) {
      terminal.tell(`  source: ${title ?? ''} ${uri ?? ''}`);
    }
    terminal.tell(paint('dim', trailOf(payload)));
  } catch (error) {
    view.settle();
    const { agentId, capability } = target;
    const asked = agentId === undefined ? [capability] : [agentId, capability];
    if (interrupted.signal.aborted) throw error;
    throw withArgumentsFix(await didYouMean(error, client, asked), agentId);
  }
}

/** Arguments that do not fit: where a person sees which are wanted. */
function withArgumentsFix(error: unknown, agentId: string | undefined): unknown {
  if (!FabricError.is(error) || error.code !== 'BAD_INPUT' || agentId === undefined) return error;
  const fix = `give them with --arg name=value; "starloom agents describe ${agentId}" shows them`;
  return /arguments/i.test(error.message) ? error.with({ fix }) : error;
}

function run(
  client: GatewayClient,
  { agentId, capability, rest }: Target,
  options: CallCommandOptions,
  { signal, onEvent }: { signal: AbortSignal; onEvent: (event: FabricEvent) => void },
) {
  const given = { ...options.args, ...options.arg };
  const task = rest.join(' ');
  const deadlineMs = options.deadline ?? 3 * (options.timeout ?? DEFAULT_TIMEOUT_MS);
  return client.call(
    'fabric.call',
    {
      ...(agentId && { agent_id: agentId }),
      capability,
      task,
      ...(Object.keys(given).length > 0 && { arguments: task ? { task, ...given } : given }),
      ...(options.context && { context: options.context }),
      ...(options.timeout && { timeout_ms: options.timeout }),
      ...(options.deadline && { deadline_ms: options.deadline }),
      ...(options.format && { format: options.format }),
      ...(options.async && { async: true }),
      ...(options.key !== undefined && { idempotency_key: options.key }),
      stream: options.stream === true,
    },
    { timeoutMs: deadlineMs + GRACE_MS, signal, ...(options.stream && { onEvent }) },
  );
}

function trailOf({ agent_id, attempts, trace }: Awaited<ReturnType<typeof run>>): string {
  const trail = attempts
    .map((attempt) => `${attempt.agent_id} ${attempt.code ?? 'ok'} ${attempt.ms} ms`)
    .join(', then ');
  return `answered by ${agent_id} (${trail}), trace ${trace.trace_id}`;
}

/** The first Ctrl-C cancels the call at the agent, the second ends this process at once. */
function onInterrupt(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  process.on('SIGINT', onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => void process.off('SIGINT', onSignal),
  };
}
