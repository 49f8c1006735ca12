// Serves a ledger file in the thread of files.

import type { FileService } from '@starloom/wire';
import { LedgerFile, toEngineError } from './ledger-file.ts';
import { type LedgerStep, type ThreadReply, toProblem } from './thread-messages.ts';

export const service: FileService<readonly LedgerStep[], ThreadReply> = {
  open(path, reply) {
    let file: LedgerFile | undefined;
    try {
      file = new LedgerFile(path);
      reply({ kind: 'opened' });
    } catch (error) {
      reply({ kind: 'failed', problem: toProblem(toEngineError(error)) });
    }
    return {
      take: (steps) => reply({ kind: 'done', replies: file?.run(steps) ?? [] }),
      close: () => file?.close(),
    };
  },
};
