// A journal file in the thread of files, as the thread of the gateway sees it.

import { extname } from 'node:path';
import type { FabricError, Log } from '@starloom/core';
import { ThreadedFile } from '@starloom/wire';
import type { JournalTable, Row } from '../journal-table.ts';
import { failure } from '../reasons.ts';
import type { FileReply, FileRequest, FileWork } from './journal-worker.ts';

interface SqliteTableOptions {
  /** `:memory:` keeps nothing when the process ends. */
  readonly path: string;
  readonly calls: number;
  readonly log: Log;
}

export function openSqliteTable({ path, calls, log }: SqliteTableOptions): JournalTable {
  const waiting = new Map<number, PromiseWithResolvers<readonly Row[]>>();
  let number = 0;
  let lost: FabricError | undefined;
  const module = new URL(`./journal-worker${extname(import.meta.url)}`, import.meta.url);
  const file = new ThreadedFile<FileRequest, FileReply>({
    module,
    path,
    onReply(reply) {
      if (reply.note) log.warn(reply.note, 'the journal was set aside, and a new one begun');
      const asked = waiting.get(reply.number);
      waiting.delete(reply.number);
      if (waiting.size === 0) file.release();
      if (reply.problem) asked?.reject(failure(reply.problem.reason, reply.problem));
      else asked?.resolve(reply.rows ?? []);
    },
    onLost(cause) {
      lost = failure('journal_unavailable', { cause: String(cause) });
      for (const asked of waiting.values()) asked.reject(lost);
      waiting.clear();
    },
  });
  file.release();
  const ask = async (work: FileWork): Promise<readonly Row[]> => {
    if (lost) throw lost;
    number += 1;
    const asked = Promise.withResolvers<readonly Row[]>();
    waiting.set(number, asked);
    file.hold();
    file.send({ number, calls, ...work });
    return await asked.promise;
  };
  return {
    kind: path === ':memory:' ? 'memory' : 'sqlite',
    async append(blocks, sums) {
      await ask({ kind: 'append', blocks, sums });
    },
    query: (statement) => ask({ kind: 'query', statement }),
    async count() {
      const [row] = await ask({ kind: 'count' });
      return Number(row?.n);
    },
    async remove(statements) {
      await ask({ kind: 'remove', statements });
    },
    async close() {
      await file.close();
      lost = failure('journal_unavailable/closed');
    },
  };
}
