// A dry run: the calls of the audit log, decided again by the rules of today. Scopes are not asked again:
// they are taken from the key that the call was made with, as far as it is known, for rules that use them.

import { join } from 'node:path';
import type { GatewayConfig } from '@starloom/gateway/config';
import {
  type AuditRecord,
  type Authoriser,
  auditFiles,
  type Decision,
  listKeys,
  type PolicyAgent,
  verifyAudit,
} from '@starloom/identity';
import { fromRecordedFacts } from '@starloom/identity/policy';
import type { GlobalOptions } from '../command-line.ts';
import { count } from '../report-error.ts';
import { auditFolder, identityFolder, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { line } from '../terminal-text.ts';

type RecordedCall = Extract<AuditRecord, { type: 'call' }>;

interface Change {
  readonly principal: string;
  readonly agent_id: string;
  readonly capability: string;
  readonly was: Decision;
  readonly would_be: Decision;
  readonly calls: number;
}

export async function reportRecorded(
  terminal: Terminal,
  { auth }: GatewayConfig,
  authoriser: Authoriser,
  find: (agentId: string) => Promise<PolicyAgent | undefined>,
  { json }: GlobalOptions,
): Promise<void> {
  const home = stateFolder(terminal.env);
  const scopes = new Map(
    [...auth.psk, ...(await listKeys(identityFolder(home)))].map((key) => [key.key_id, key.scopes]),
  );
  const changes = new Map<string, Change>();
  let [decided, skipped] = [0, 0];
  for (const record of await readCalls(auditFolder(home))) {
    const before = decisionOf(record);
    const { agent_id = '', capability } = record;
    const agent = before && (await find(agent_id));
    const facts = fromRecordedFacts(record, (keyId) => scopes.get(keyId) ?? []);
    if (!before || !agent || !facts) {
      skipped += 1;
      continue;
    }
    decided += 1;
    const after = authoriser.decide(facts.principal, agent, capability, facts.call);
    if (after.effect === before.effect) continue;
    const change = { principal: record.principal, agent_id, capability, was: before };
    const key = JSON.stringify([change, after]);
    const calls = (changes.get(key)?.calls ?? 0) + 1;
    changes.set(key, { ...change, would_be: after, calls });
  }
  const changed = [...changes.values()];
  if (json) return terminal.json({ ok: true, decided, skipped, changed });
  for (const change of changed) terminal.print(toLine(change));
  const total = changed.reduce((sum, { calls }) => sum + calls, 0);
  terminal.print(`${total} of ${count(decided, 'recorded call')} would be decided differently`);
  const why = 'refused for other reasons, or unknown agents';
  if (skipped > 0) terminal.tell(`${count(skipped, 'call')} skipped: ${why}`);
}

async function readCalls(folder: string): Promise<RecordedCall[]> {
  const files = (await auditFiles(folder)).map((name) => join(folder, name));
  const calls: RecordedCall[] = [];
  const onRecord = (record: AuditRecord) => void (record.type === 'call' && calls.push(record));
  await verifyAudit(files, { keys: new Map(), onRecord });
  return calls;
}

/** What the rules of then decided; `undefined` when something else refused the call. */
function decisionOf({ decision, rule }: RecordedCall): Decision | undefined {
  return decision === 'deny' && rule === undefined ? undefined : { effect: decision, rule };
}

function toLine({ principal, agent_id, capability, was, would_be, calls }: Change): string {
  const text = ({ effect, rule }: Decision) =>
    rule === undefined ? effect : `${effect} by ${rule}`;
  return line`${calls}×  ${principal} → ${agent_id}/${capability}  ${text(was)} → ${text(would_be)}`;
}
