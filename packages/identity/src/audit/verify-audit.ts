// Checks audit files. What it finds: a line changed, removed, added or moved; a file taken away between
// two others; a signature of another key. The oldest files are removed when the log is full, so that the
// first file may continue one that is gone. A file without a line is one whose first line could not be
// written. Lines at the end of the newest file, after its last signature, are checked for their order;
// that some of them were cut off cannot be seen.

import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { isSigned } from '../tokens/signing-keys.ts';
import {
  type AuditRecord,
  auditRecordSchema,
  FIRST_LINK,
  linkOf,
  type SignedAuditRecord,
  toSignedBytes,
} from './audit-record.ts';

export type AuditFlaw =
  | 'unreadable'
  | 'not_canonical'
  | 'out_of_order'
  | 'broken_chain'
  | 'bad_signature'
  | 'unknown_key'
  | 'not_begun'
  | 'after_close'
  | 'missing_before';

export interface AuditProblem {
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

export interface VerifyAuditOptions {
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
  let [records, unsealed, interrupted] = [0, 0, 0];
  const empty = new Set<string>();
  const begun: { file: string; continues: Continues }[] = [];
  for (const path of files) {
    const file = basename(path);
    const check = new FileCheck(file, options, problems);
    check.read(await readFile(path, 'utf8'));
    links.set(file, check.links);
    records += check.records;
    unsealed += check.unsealed;
    interrupted += check.interrupted;
    if (check.isEmpty) {
      empty.add(file);
      continue;
    }
    if (!check.isClosed) open.push(file);
    begun.push({ file, continues: check.continues });
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

type Continues = Extract<AuditRecord, { type: 'open' }>['continues'];

class FileCheck {
  readonly links = new Set<string>();
  records = 0;
  unsealed = 0;
  interrupted = 0;
  isEmpty = false;
  isClosed = false;
  continues: Continues = null;
  readonly #file: string;
  readonly #options: VerifyAuditOptions;
  readonly #problems: AuditProblem[];
  #line = 0;
  #prev: string | undefined;

  constructor(file: string, options: VerifyAuditOptions, problems: AuditProblem[]) {
    this.#file = file;
    this.#options = options;
    this.#problems = problems;
  }

  read(text: string): void {
    const lines = text.split('\n');
    // A last line without its end was being written when its process was killed.
    lines.pop();
    this.isEmpty = lines.length === 0;
    // Earlier versions went on from such a file as from the beginning.
    if (this.isEmpty) this.links.add(FIRST_LINK);
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
    this.#line += 1;
    const record = parseRecord(line);
    const flaw = record ? this.#flawOf(record, line) : 'unreadable';
    if (flaw) this.#problems.push({ file: this.#file, line: this.#line, flaw });
    this.#prev = linkOf(line);
    this.links.add(this.#prev);
    if (!record) return;
    this.records += 1;
    this.unsealed = 'signature' in record && !flaw ? 0 : this.unsealed + 1;
    this.isClosed = record.type === 'close';
    if (record.type === 'seal' && record.interrupted) this.interrupted += 1;
    this.#options.onRecord?.(record);
  }

  #flawOf(record: AuditRecord, line: string): AuditFlaw | undefined {
    if (this.#line === 1) {
      if (record.type !== 'open') return 'not_begun';
      this.continues = record.continues;
      this.#prev = record.continues?.hash ?? FIRST_LINK;
    } else if (record.type === 'open') return 'out_of_order';
    if (this.isClosed) return 'after_close';
    if (JSON.stringify(JSON.parse(line)) !== line) return 'not_canonical';
    if (record.seq !== this.#line) return 'out_of_order';
    if (record.prev !== this.#prev) return 'broken_chain';
    return 'signature' in record ? this.#signatureFlaw(record, line) : undefined;
  }

  #signatureFlaw({ kid }: SignedAuditRecord, line: string): AuditFlaw | undefined {
    const key = this.#options.keys.get(kid);
    if (key === undefined) return 'unknown_key';
    const { signature, ...rest } = JSON.parse(line) as { signature: string };
    return isSigned(key, toSignedBytes(rest), signature) ? undefined : 'bad_signature';
  }
}

function parseRecord(line: string): AuditRecord | undefined {
  try {
    return auditRecordSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
