// The thread that owns the file, so that no flush to disk ever stops the gateway's own thread.

import { parentPort, workerData } from 'node:worker_threads';
import type { LogReply, LogRequest } from './log-messages.ts';
import { SqliteLog, toLogProblem } from './sqlite-log.ts';

const log = attempt(() => new SqliteLog(String(workerData)));

attempt(() => {
  for (const message of log?.load() ?? []) reply(message);
});

parentPort?.on('message', (request: LogRequest) => {
  if ('write' in request) {
    attempt(() => {
      log?.write(request.write);
      reply({ kind: 'done' });
    });
    return;
  }
  attempt(() => log?.close());
  parentPort?.close();
});

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    reply({ kind: 'failed', problem: toLogProblem(error) });
    return undefined;
  }
}

function reply(message: LogReply): void {
  parentPort?.postMessage(message);
}
