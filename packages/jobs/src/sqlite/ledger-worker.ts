// Serves a ledger file in the thread of files.

import type { FileService } from '@starloom/wire';
import {
  type LedgerReply,
  type LedgerStep,
  type Problem,
  toProblem,
} from '../ledger/step-batches.ts';
import { LedgerFile, toEngineError } from './ledger-file.ts';

export type ThreadReply =
  /** With a problem: the disk is full, and the file is opened as soon as it can be. */
  | { readonly kind: 'opened'; readonly problem?: Problem }
  | { readonly kind: 'failed'; readonly problem: Problem }
  | { readonly kind: 'done'; readonly replies: readonly LedgerReply[] };

export const service: FileService<readonly LedgerStep[], ThreadReply> = {
  open(path, reply) {
    let file: LedgerFile | undefined;
    let problem: Problem | undefined;
    const open = () => {
      try {
        file = new LedgerFile(path);
      } catch (error) {
        problem = toProblem(toEngineError(error));
      }
    };
    open();
    const isGone = problem !== undefined && problem.details.reason !== 'disk_full';
    if (problem && isGone) reply({ kind: 'failed', problem });
    else reply({ kind: 'opened', ...(problem && { problem }) });
    return {
      take(steps) {
        // A disk that was full may have room by now.
        if (!file) open();
        const refused = problem ? steps.map(() => ({ problem: problem as Problem })) : [];
        reply({ kind: 'done', replies: file?.run(steps) ?? refused });
      },
      close: () => file?.close(),
    };
  },
};
