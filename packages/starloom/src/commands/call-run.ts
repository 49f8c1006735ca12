import type { FabricEvent } from '@starloom/core';
import { connectToGateway } from '../gateway-client.ts';
import type { Terminal } from '../terminal.ts';
import type { CallCommandOptions } from './fabric.ts';
import { readTarget } from './target.ts';

/** How much longer than the call itself we wait for its answer. */
const GRACE_MS = 5_000;
const DEFAULT_TIMEOUT_MS = 60_000;

export async function callAgent(
  terminal: Terminal,
  words: readonly string[],
  options: CallCommandOptions,
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { agentId, capability, rest } = await readTarget(client, words);
  const given = { ...options.args, ...options.arg };
  const task = rest.join(' ');
  const deadlineMs = options.deadline ?? 3 * (options.timeout ?? DEFAULT_TIMEOUT_MS);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const printer = options.json ? undefined : new TokenPrinter(terminal);
  const payload = await client.call(
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
      stream: options.stream === true,
    },
    {
      timeoutMs: deadlineMs + GRACE_MS,
      signal: interrupted.signal,
      ...(options.stream && {
        onEvent: (event: FabricEvent) => {
          if (printer) printer.show(event);
          else terminal.print(JSON.stringify(event));
        },
      }),
    },
  );
  if (options.json) {
    if (!options.stream) terminal.print(JSON.stringify(payload));
    return;
  }
  printer?.finish(payload.result.answer);
  const { agent_id, attempts, trace, result } = payload;
  for (const { title, uri } of result.citations ?? [])
    terminal.tell(`  source: ${title ?? ''} ${uri ?? ''}`);
  const trail = attempts
    .map((attempt) => `${attempt.agent_id} ${attempt.code ?? 'ok'} ${attempt.ms} ms`)
    .join(', then ');
  terminal.tell(`answered by ${agent_id} (${trail}), trace ${trace.trace_id}`);
}

/** Tokens to stdout as they come, everything else as talk beside them. */
class TokenPrinter {
  readonly #terminal: Terminal;
  #text = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show({ type, agent_id, data }: FabricEvent): void {
    if (type === 'token') {
      this.#text += data.text;
      this.#terminal.write(data.text);
    } else if (type === 'status' && data.state === 'discard') {
      this.#endLine();
      this.#text = '';
      this.#terminal.tell('(what was said so far no longer counts)');
    } else if (type === 'status' && (data.state === 'retrying' || data.state === 'degraded')) {
      this.#endLine();
      this.#terminal.tell(`(${data.message ?? data.state})`);
    } else if (type === 'tool_call' && data.phase === 'start') {
      this.#endLine();
      this.#terminal.tell(`(${agent_id} uses ${data.name})`);
    }
  }

  /** The answer, unless the tokens said it all. */
  finish(answer: string): void {
    this.#endLine();
    if (answer === '' || this.#text.trim() !== answer.trim()) this.#terminal.print(answer);
  }

  #endLine(): void {
    if (this.#text !== '' && !this.#text.endsWith('\n')) this.#terminal.write('\n');
  }
}
