// Serves the log of a store in the thread of files.

import type { FileService } from '@starloom/wire';
import type { LogBatch, LogReply } from './log-messages.ts';
import { SqliteLog, toLogProblem } from './sqlite-log.ts';

export const service: FileService<LogBatch, LogReply> = {
  open(path, reply) {
    const attempt = <Result>(work: () => Result): Result | undefined => {
      try {
        return work();
      } catch (error) {
        reply({ kind: 'failed', problem: toLogProblem(error) });
        return undefined;
      }
    };
    const log = attempt(() => new SqliteLog(path));
    attempt(() => {
      for (const message of log?.load() ?? []) reply(message);
    });
    return {
      take: (batch) =>
        attempt(() => {
          log?.write(batch);
          reply({ kind: 'done' });
        }),
      close: () => attempt(() => log?.close()),
    };
  },
};
