// A dry run: the calls of the audit log, decided again by the rules of today. Scopes are not asked again:
// they are taken from the key that the call was made with, as far as it is known, for rules that use them.

import { join } from 'node:path';
import type { GatewayConfig } from '@starloom/gateway/config';
import {
  type AuditRecord,
  auditFiles,
  type Decision,
  listKeys,
  type PolicyAgent,
  type Principal,
  verifyAudit,
} from '@starloom/identity';
import { Policy } from '@starloom/identity/policy';
import type { GlobalOptions } from '../command-line.ts';
import { line, toSafeJson } from '../plain-text.ts';
import { count } from '../report-error.ts';
import { auditFolder, identityFolder, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { named } from './policy-fixtures.ts';

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
  { auth, policy: spec }: GatewayConfig,
  find: (agentId: string) => Promise<PolicyAgent | undefined>,
  { json }: GlobalOptions,
): Promise<void> {
  const home = stateFolder(terminal.env);
  const policy = new Policy(spec);
  const scopes = new Map(
    [...auth.psk, ...(await listKeys(identityFolder(home)))].map((key) => [key.key_id, key.scopes]),
  );
  const changes = new Map<string, Change>();
  let [decided, skipped] = [0, 0];
  for (const record of await readCalls(auditFolder(home))) {
    const before = decisionOf(record);
    const { agent_id = '', tier, capability } = record;
    const agent = before && (await find(agent_id));
    if (!before || !agent || tier === undefined) {
      skipped += 1;
      continue;
    }
    decided += 1;
    const principal = toPrincipal(record, tier, scopes);
    const after = policy.decide(principal, agent, capability, toCall(record, tier));
    if (after.effect === before.effect) continue;
    const change = { principal: record.principal, agent_id, capability, was: before };
    const key = JSON.stringify([change, after]);
    const calls = (changes.get(key)?.calls ?? 0) + 1;
    changes.set(key, { ...change, would_be: after, calls });
  }
  const changed = [...changes.values()];
  if (json) return terminal.print(toSafeJson({ ok: true, decided, skipped, changed }));
  for (const change of changed) terminal.print(toLine(change));
  const total = changed.reduce((sum, { calls }) => sum + calls, 0);
  terminal.print(`${total} of ${count(decided, 'recorded call')} would be decided differently`);
  if (skipped > 0) {
    terminal.tell(
      `${count(skipped, 'call')} skipped: refused for other reasons, or unknown agents`,
    );
  }
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

function toPrincipal(
  { principal, delegate, mode, grant }: RecordedCall,
  tier: Principal['tier'],
  scopes: ReadonlyMap<string, readonly string[]>,
): Principal {
  const keyId = grant.startsWith('key:') ? grant.slice('key:'.length) : null;
  return {
    ...named(principal, delegate),
    mode: mode as Principal['mode'],
    tier,
    scopes: scopes.get(keyId ?? '') ?? [],
    keyId,
  };
}

function toCall({ at, depth = 1, origin_tier }: RecordedCall, tier: Principal['tier']) {
  return { depth, time: Date.parse(at), originTier: origin_tier ?? tier };
}

function toLine({ principal, agent_id, capability, was, would_be, calls }: Change): string {
  const text = ({ effect, rule }: Decision) =>
    rule === undefined ? effect : `${effect} by ${rule}`;
  return line`${calls}×  ${principal} → ${agent_id}/${capability}  ${text(was)} → ${text(would_be)}`;
}
