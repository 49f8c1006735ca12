// The audit log, for those with `admin:audit`: its records, newest first, and whether the chain is whole.

import { join } from 'node:path';
import type { AuditPage, AuditRecord, AuditReport, JsonObject } from '@starloom/console/api-types';
import {
  auditFiles,
  readPublicKeys,
  type AuditRecord as Stored,
  verifyAudit,
} from '@starloom/identity';
import { z } from 'zod';
import {
  assertMay,
  type ConsoleRequest,
  type Handler,
  type Handlers,
  parseQuery,
  withPart,
} from './request.ts';

const MAX_PAGE = 500;

const querySchema = z.strictObject({
  type: z.string().max(64).optional(),
  q: z.string().max(256).optional(),
  /** `<file>:<line>` of the last record of the page before. */
  cursor: z
    .string()
    .regex(/^[\w.:-]+:\d+$/)
    .optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(100),
});

export const auditHandlers: Handlers = {
  'GET audit': withAudit(listRecords),
  'GET audit/verify': withAudit(verify),
};

function withAudit(handle: (request: ConsoleRequest, folder: string) => Promise<object>): Handler {
  const handled = withPart('audit', (request, { folder }) => handle(request, folder));
  return (request) => {
    assertMay(request, 'audit');
    return handled(request);
  };
}

/** File by file from the newest: most pages read one. */
async function listRecords(request: ConsoleRequest, folder: string): Promise<AuditPage> {
  const { type, q, cursor, limit } = parseQuery(querySchema, request);
  const [, from, line] = /^(.+):(\d+)$/.exec(cursor ?? '') ?? [];
  const wanted = q?.toLowerCase();
  const records: AuditRecord[] = [];
  let next: string | undefined;
  const names = (await auditFiles(folder)).filter((name) => from === undefined || name <= from);
  for (const file of names.reverse()) {
    if (records.length >= limit) break;
    const all: Stored[] = [];
    const onRecord = (record: Stored) => void all.push(record);
    await verifyAudit([join(folder, file)], { keys: new Map(), onRecord });
    const until = file === from ? Number(line) : all.length;
    for (let at = until - 1; at >= 0 && records.length < limit; at -= 1) {
      const record = all[at];
      if (!record || (type !== undefined && record.type !== type)) continue;
      if (wanted !== undefined && !JSON.stringify(record).toLowerCase().includes(wanted)) continue;
      records.push(toView(record, file));
      next = `${file}:${at}`;
    }
  }
  const isMore = records.length >= limit && next !== undefined;
  return {
    records,
    ...(isMore && { next_cursor: next ?? '' }),
  };
}

async function verify({ parts }: ConsoleRequest, folder: string): Promise<AuditReport> {
  const names = await auditFiles(folder);
  const keys = await readPublicKeys(parts.gateway.identity?.folder ?? '');
  const paths = names.map((name) => join(folder, name));
  const { intact, records, problems } = await verifyAudit(paths, { keys });
  const shown = problems.map(({ file, line, flaw }) => `${file}:${line} ${flaw}`);
  return { verified: intact, files: names.length, records, problems: shown };
}

function toView(record: Stored, file: string): AuditRecord {
  return {
    type: record.type,
    seq: record.seq,
    at: record.at,
    file,
    summary: summaryOf(record),
    ...('trace_id' in record && record.trace_id !== undefined && { trace_id: record.trace_id }),
    record: JSON.parse(JSON.stringify(record)) as JsonObject,
  };
}

function summaryOf(record: Stored): string {
  switch (record.type) {
    case 'call': {
      const { decision, principal, delegate, agent_id = '?', capability } = record;
      const who = delegate === undefined ? principal : `${delegate} for ${principal}`;
      return `${decision}: ${who} → ${agent_id}/${capability}`;
    }
    case 'mint':
      return `mandate for ${record.audience}, on behalf of ${record.principal}`;
    case 'denied':
      return `refused a ${record.credential}: ${record.reason}`;
    case 'pin': {
      const { decision, capabilities, agent_id, by } = record;
      const tools = capabilities.length === 1 ? 'a tool' : `${capabilities.length} tools`;
      return `${decision} ${tools} of ${agent_id} (${by.replaceAll('_', ' ')})`;
    }
    case 'policy':
      return `rules of the realm ${record.decision}, revision ${record.revision}, by ${record.by}`;
    case 'lost':
      return `${record.entries} entries were lost`;
    case 'open':
      return 'a file of the log began';
    case 'seal':
      return 'signed by the gateway';
    case 'close':
      return 'the file ended';
  }
}
