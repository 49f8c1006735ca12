// The log of the gateway and the signed decisions of agents, verified by one command: the first line of
// a file says which of the two it is.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AuditRecord,
  type AuditReport,
  auditFiles,
  readPublicKeys,
  verifyAudit,
} from '@starloom/identity';
import type { Command } from 'commander';
import { action, type GlobalOptions } from '../command-line.ts';
import { count } from '../report-error.ts';
import { auditFolder, identityFolder, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { line, toSafeJson } from '../terminal-text.ts';

export function define(audit: Command, terminal: Terminal): void {
  audit
    .command('verify')
    .description('find changed, missing and reordered lines; exits 1 if any')
    .argument('[files...]', "the gateway's log and the decisions of agents in the state folder")
    .action(action(terminal, () => verifyAuditLog));
  audit
    .command('show')
    .description('show who called what on whose behalf, oldest first')
    .option('--trace <id>', 'only calls and mandates of this trace')
    .action(action(terminal, () => showAuditLog));
}

interface Flaw {
  readonly file: string;
  readonly line: number;
  readonly flaw: string;
}

type Report = Omit<AuditReport, 'problems'> & { readonly problems: readonly Flaw[] };

async function verifyAuditLog(
  terminal: Terminal,
  named: readonly string[],
  { json }: GlobalOptions,
): Promise<void> {
  const home = stateFolder(terminal.env);
  const files = named.length > 0 ? named : await allFiles(home);
  const own: string[] = [];
  const decisions: string[] = [];
  for (const file of files) ((await isDecisions(file)) ? decisions : own).push(file);
  const keys = await readPublicKeys(identityFolder(home));
  const audit = await verifyAudit(own, { keys });
  const report = await withDecisions(audit, decisions);
  if (!report.intact) terminal.exitCode = 1;
  if (json) return terminal.json(report);
  for (const { file, line: number, flaw } of report.problems) {
    terminal.print(line`${file}:${number}  ${flaw}`);
  }
  const { records, unsealed, open, interrupted } = report;
  const state = report.intact ? 'intact' : `${count(report.problems.length, 'problem')} found`;
  terminal.print(`${state}: ${count(records, 'record')} in ${count(report.files, 'file')}`);
  if (unsealed > 0) terminal.tell(`${count(unsealed, 'record')} at the end not signed yet`);
  if (interrupted > 0)
    terminal.tell(`could not be written ${count(interrupted, 'time')}; see "lost"`);
  if (open.length > 0) terminal.tell(`still written, or not ended: ${open.join(', ')}`);
}

export async function showAuditLog(
  terminal: Terminal,
  { trace, json }: GlobalOptions & { readonly trace?: string },
) {
  const folder = auditFolder(stateFolder(terminal.env));
  const files = (await auditFiles(folder)).map((name) => join(folder, name));
  const records: AuditRecord[] = [];
  await verifyAudit(files, { keys: new Map(), onRecord: (record) => void records.push(record) });
  for (const record of records) {
    const isShown = trace === undefined || ('trace_id' in record && record.trace_id === trace);
    if (!isShown || 'signature' in record) continue;
    terminal.print(json ? toSafeJson(record) : toLine(record));
  }
}

function toLine(record: Exclude<AuditRecord, { signature: string }>): string {
  const { at } = record;
  switch (record.type) {
    case 'call': {
      const { decision, principal, delegate, agent_id = '?', capability } = record;
      const who = delegate === undefined ? principal : `${delegate} for ${principal}`;
      const { code, reason, rule } = record;
      const why = [code, reason, rule && `rule ${rule}`].filter(Boolean).join(' ');
      return line`${at}  ${decision}  ${who} → ${agent_id}/${capability}  ${why}`.trimEnd();
    }
    case 'mint': {
      const { delegate, principal, audience, cap, depth } = record;
      return line`${at}  mint   ${delegate} for ${principal} → ${audience}  depth ${depth}  ${cap.join(' ')}`;
    }
    case 'denied':
      return line`${at}  denied a ${record.credential}: ${record.reason}`;
    case 'pin': {
      const { decision, agent_id, capabilities, by } = record;
      const names = capabilities.map(({ name }) => name).join(' ');
      return line`${at}  ${decision}  ${agent_id}: ${names}  ${by}`;
    }
    case 'policy': {
      const { decision, revision, rules, by } = record;
      return line`${at}  ${decision}  rules of the realm, revision ${revision}: ${rules.join(' ')}  ${by}`;
    }
    default:
      return line`${at}  ${record.entries} entries were lost`;
  }
}

async function withDecisions(audit: Report, files: readonly string[]): Promise<Report> {
  if (files.length === 0) return audit;
  const { verifyDecisions } = await import('@starloom/runtime');
  const problems: Flaw[] = [...audit.problems];
  const open = [...audit.open];
  let { records, unsealed } = audit;
  for (const file of files) {
    const found = await verifyDecisions(file);
    records += found.decisions;
    unsealed += found.unsealed;
    if (found.truncated) open.push(file);
    problems.push(...found.problems.map(({ line, flaw }) => ({ file, line, flaw })));
  }
  const all = audit.files + files.length;
  const intact = problems.length === 0;
  return { ...audit, intact, files: all, records, unsealed, open, problems };
}

async function allFiles(home: string): Promise<string[]> {
  const folder = auditFolder(home);
  const own = (await auditFiles(folder)).map((name) => join(folder, name));
  const agents = join(home, 'agents');
  const names = await readdir(agents).catch(() => []);
  const decisions = names.map(async (name) => {
    const kept = join(agents, name, 'decisions');
    return (await auditFiles(kept)).map((file) => join(kept, file));
  });
  return [...own, ...(await Promise.all(decisions)).flat()];
}

/** Those of an agent bring the public key of their run. */
async function isDecisions(file: string): Promise<boolean> {
  const [first = ''] = (await readFile(file, 'utf8')).split('\n', 1);
  return first.includes('"public_key"') && first.includes('"type":"open"');
}
