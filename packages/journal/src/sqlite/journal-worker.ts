// Serves a journal file in the thread of files. A file that cannot be opened is tried again. What reads waits until
// every call can be found, which is done in steps: other files are served between them.

import { existsSync, renameSync, rmSync } from 'node:fs';
import { FabricError } from '@starloom/core';
import { type FileService, sqliteReason } from '@starloom/wire';
import type { CallBlock } from '../call-block.ts';
import type { Row, Statement, UsageSum } from '../journal-table.ts';
import type { failure } from '../reasons.ts';
import { JournalFile } from './journal-file.ts';

export type FileWork =
  | {
      readonly kind: 'append';
      readonly blocks: readonly CallBlock[];
      readonly sums: readonly UsageSum[];
    }
  | { readonly kind: 'count' }
  | { readonly kind: 'query'; readonly statement: Statement }
  | { readonly kind: 'remove'; readonly statements: readonly Statement[] };

export type FileRequest = FileWork & { readonly number: number; readonly calls: number };

export interface FileReply {
  readonly number: number;
  readonly rows?: readonly Row[];
  readonly problem?: { readonly reason: keyof typeof failure.rows; readonly cause: string };
  /** A file that could not be used was moved away. */
  readonly note?: { readonly path: string; readonly moved_to: string; readonly cause: string };
}

const RETRY_MS = 2_000;
/** With these a new file is begun; the old one is kept, so that people can look at it. */
const SET_ASIDE: ReadonlySet<string> = new Set(['corrupt', 'foreign', 'older_store']);

export const service: FileService<FileRequest, FileReply> = {
  open(path, reply) {
    let file: JournalFile | undefined;
    let thrown: unknown;
    let triedAt = Number.NEGATIVE_INFINITY;
    let note: FileReply['note'];
    const open = () => {
      if (performance.now() - triedAt < RETRY_MS) throw thrown;
      triedAt = performance.now();
      try {
        return new JournalFile(path);
      } catch (error) {
        thrown = error;
        throw error;
      }
    };
    const used = (): JournalFile => {
      try {
        file ??= open();
      } catch (error) {
        setAside(error);
        file = new JournalFile(path);
      }
      return file;
    };
    /** Throws again what is no reason to do so. */
    const setAside = (error: unknown) => {
      if (!SET_ASIDE.has(reasonOf(error))) throw error;
      file?.close();
      file = undefined;
      triedAt = Number.NEGATIVE_INFINITY;
      const moved_to = `${path}.damaged`;
      renameSync(path, moved_to);
      for (const ending of ['-wal', '-shm']) {
        if (existsSync(path + ending)) rmSync(path + ending);
      }
      note = { path, moved_to, cause: messageOf(error) };
    };
    const serve = <Result>(work: (file: JournalFile) => Result): Result => {
      try {
        return work(used());
      } catch (error) {
        if (!file) throw error;
        setAside(error);
        return work(used());
      }
    };
    const answer = (request: FileRequest, failed?: { readonly error: unknown }) => {
      const { number } = request;
      try {
        if (failed) throw failed.error;
        const rows = serve((opened) => run(opened, request));
        reply({ number, rows, ...(note && { note }) });
      } catch (error) {
        reply({ number, problem: toProblem(error), ...(note && { note }) });
      }
      note = undefined;
    };
    const waiting: FileRequest[] = [];
    /** One step; false when those that waited have their answer. */
    const advance = (): boolean => {
      const [first] = waiting;
      if (!first) return false;
      let failed: { readonly error: unknown } | undefined;
      try {
        if (serve((opened) => opened.index(first.calls))) return true;
      } catch (error) {
        failed = { error };
      }
      for (const request of waiting.splice(0)) answer(request, failed);
      return false;
    };
    const goOn = () => {
      if (advance()) setImmediate(goOn);
    };
    return {
      take(request) {
        if (request.kind === 'append' || request.kind === 'count') answer(request);
        else if (waiting.push(request) === 1) goOn();
      },
      close() {
        while (advance());
        file?.close();
      },
    };
  },
};

function run(file: JournalFile, request: FileRequest): readonly Row[] {
  switch (request.kind) {
    case 'append':
      file.append(request.blocks, request.sums, request.calls);
      return [];
    case 'count':
      return [{ n: file.count(request.calls) }];
    case 'query':
      return file.query(request.statement);
    case 'remove':
      file.remove(request.statements);
      return [];
  }
}

function reasonOf(error: unknown): string {
  if (FabricError.is(error)) return String(error.details.reason);
  // A block is no JSON: its bytes changed.
  if (error instanceof SyntaxError) return 'corrupt';
  return sqliteReason(error) ?? 'journal_unavailable';
}

function toProblem(error: unknown): NonNullable<FileReply['problem']> {
  const reason = reasonOf(error);
  const known = ['disk_full', 'in_use', 'newer_store'] as const;
  const named = known.find((one) => one === reason) ?? 'journal_unavailable';
  return { reason: named, cause: messageOf(error) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
