// The thread that owns the file, so that no sync to disk ever stops the gateway's own thread.

import { parentPort, workerData } from 'node:worker_threads';
import { LedgerFile, toEngineError } from './ledger-file.ts';
import { type ThreadReply, type ThreadRequest, toProblem } from './thread-messages.ts';

const reply = (message: ThreadReply) => parentPort?.postMessage(message);

let file: LedgerFile | undefined;
try {
  file = new LedgerFile(String(workerData));
  reply({ kind: 'opened' });
} catch (error) {
  reply({ kind: 'failed', problem: toProblem(toEngineError(error)) });
}

parentPort?.on('message', (request: ThreadRequest) => {
  if ('steps' in request) {
    reply({ kind: 'done', replies: file?.run(request.steps) ?? [] });
    return;
  }
  file?.close();
  parentPort?.close();
});
