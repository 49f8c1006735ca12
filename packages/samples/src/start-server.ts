import { FabricError, type Log } from '@starloom/core';
import { deadlineSignal, type ManagedProcess, spawnProcess } from '@starloom/wire';
import { z } from 'zod';
import type { Script } from './sample-script.ts';

export interface ServerOptions {
  /** The agent it is, for log and errors. */
  readonly name: string;
  /** Takes `--port N`, 0 for any, and says where it listens with the first line on its stdout. */
  readonly script: Script;
  readonly log: Log;
}

export interface StartedServer {
  readonly process: ManagedProcess;
  readonly url: string;
  readonly port: number;
}

const START_MS = 30_000;

/** Resolves when it listens; rejects with AGENT_OFFLINE, or when `signal` aborts, having ended it. */
export async function startServer(
  { name, script, log }: ServerOptions,
  port: number,
  signal: AbortSignal,
): Promise<StartedServer> {
  using deadline = deadlineSignal({ ms: START_MS, parent: signal });
  const process = await spawnProcess({
    command: script.command,
    args: [...script.args, '--port', String(port)],
    onStderrLine: (line) => log.warn({ agent_id: name, line }, 'a sample wrote to stderr'),
  });
  const stop = () => void process.stop();
  if (deadline.signal.aborted) stop();
  deadline.signal.addEventListener('abort', stop, { once: true });
  const first = await process.lines().next();
  const url = first.done ? undefined : readReady(first.value);
  if (url !== undefined) return { process, url: url.href, port: Number(url.port) };
  await process.stop();
  signal.throwIfAborted();
  throw notStarted(name, process.stderrTail());
}

const readySchema = z.object({ event: z.literal('ready'), url: z.url() });

function readReady(line: string): URL | undefined {
  try {
    return new URL(readySchema.parse(JSON.parse(line)).url);
  } catch {
    return undefined;
  }
}

function notStarted(name: string, stderr: string): FabricError {
  return new FabricError('AGENT_OFFLINE', `The sample agent "${name}" did not start`, {
    details: { agent_id: name, stderr: stderr.slice(-2_000), fix: 'see stderr; is its port free?' },
  });
}
