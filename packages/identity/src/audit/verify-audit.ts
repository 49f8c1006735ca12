// Checks the files of an audit log, and that each continues the one before: `missing_before` says that a
// file between two others was taken away. The oldest files are removed when the log is full, so that the
// first file may continue one that is gone. A file without a line is one whose first line could not be
// written. That lines were cut off the end of the newest file, after its last signature, cannot be seen.

import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { ChainCheck, type ChainFlaw, type Continued, FIRST_LINK } from '../chained-log.ts';
import { type AuditRecord, auditRecordSchema } from './audit-record.ts';

type AuditFlaw = ChainFlaw | 'missing_before';

interface AuditProblem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly flaw: AuditFlaw;
}

export interface AuditReport {
  readonly intact: boolean;
  readonly files: number;
  readonly records: number;
  /** At the end of files that were not closed: no signature covers them. */
  readonly unsealed: number;
  /** Without an end: still written, or its process was killed. */
  readonly open: readonly string[];
  /** How often the log could not be written for a while, and went on. */
  readonly interrupted: number;
  readonly problems: readonly AuditProblem[];
}

interface VerifyAuditOptions {
  /** Public keys by id, as `readPublicKeys` gives them. */
  readonly keys: ReadonlyMap<string, string>;
  readonly onRecord?: (record: AuditRecord) => void;
}

/** `files` of one folder, oldest first. */
export async function verifyAudit(
  files: readonly string[],
  options: VerifyAuditOptions,
): Promise<AuditReport> {
  const problems: AuditProblem[] = [];
  const open: string[] = [];
  const links = new Map<string, ReadonlySet<string>>();
  const empty = new Set<string>();
  const begun: { file: string; continues: Continued | null }[] = [];
  let [records, unsealed, interrupted] = [0, 0, 0];
  const onRecord = (record: AuditRecord) => {
    if (record.type === 'seal' && record.interrupted) interrupted += 1;
    options.onRecord?.(record);
  };
  for (const path of files) {
    const file = basename(path);
    const check = new ChainCheck(await readFile(path, 'utf8'), {
      schema: auditRecordSchema,
      encode: JSON.stringify,
      findKey: (record) => ('kid' in record ? options.keys.get(record.kid) : undefined),
      onRecord,
    });
    problems.push(...check.problems.map((problem) => ({ file, ...problem })));
    records += check.records;
    unsealed += check.unsealed;
    if (check.lines === 0) {
      empty.add(file);
      // Earlier versions went on from such a file as from the beginning.
      links.set(file, new Set([FIRST_LINK]));
      continue;
    }
    links.set(file, check.links);
    if (!check.isClosed) open.push(file);
    begun.push({ file, continues: continuedBy(check.opening) });
  }
  const oldest = basename(files[0] ?? '');
  for (const [index, { file, continues }] of begun.entries()) {
    if (file === oldest || (index === 0 && continues === null)) continue;
    const isThere = continues && links.get(continues.file)?.has(continues.hash);
    const isPruned = continues && continues.file < oldest;
    if (isThere || isPruned) continue;
    problems.push({ file, line: 1, flaw: 'missing_before' });
    if (continues && empty.has(continues.file)) {
      problems.push({ file: continues.file, line: 1, flaw: 'not_begun' });
    }
  }
  const intact = problems.length === 0;
  return { intact, files: files.length, records, unsealed, open, interrupted, problems };
}

function continuedBy(opening: AuditRecord | undefined): Continued | null {
  return opening?.type === 'open' ? opening.continues : null;
}
