// What was acknowledged stands in the log of its session, once and at the version that was told;
// what was refused does not; and counters are what was added to them.

import type { Json } from '@starloom/core';
import type { LogEntry, Recorded, Recording, SessionLog } from './history.ts';
import { KEPT_EVENTS } from './promised-sizes.ts';
import { type Violation, violation } from './violation.ts';

export function checkAcknowledged({ operations, logs }: Recording): readonly Violation[] {
  const bySession = Map.groupBy(operations.filter(isUpdate), ({ session }) => session);
  return [...logs].flatMap(([session, log]) => {
    const entries = Map.groupBy(log.entries, ({ cause }) => cause);
    const updates = bySession.get(session) ?? [];
    return [
      ...checkBeginning(session, log),
      ...updates.flatMap((update) => checkUpdate(update, entries.get(update.id) ?? [], log)),
    ];
  });
}

export function checkSums(recording: Recording): readonly Violation[] {
  const finals = lastReads(recording);
  const increments = recording.operations.filter(({ operation }) => operation.kind === 'increment');
  const byKey = Map.groupBy(increments, nameOf);
  return [...byKey].flatMap(([name, all]) => {
    const final = finals.get(name);
    if (final === undefined) return [];
    const sum = (kind: string) =>
      all.reduce((total, { operation, outcome }) => {
        const by = operation.kind === 'increment' && outcome.kind === kind ? operation.by : 0;
        return total + by;
      }, 0);
    const [least, open, value] = [sum('ok'), sum('unknown'), Number(readValue(final) ?? 0)];
    if (value >= least && value <= least + open) return [];
    const message = `${name} is ${value}; ${least} was acknowledged and ${open} is unknown`;
    return [violation('sum_of_increments', message, [final])];
  });
}

/** A log may not begin late unless more has happened than it must keep. */
function checkBeginning(session: string, { from }: SessionLog): readonly Violation[] {
  if (from === 0 || from > KEPT_EVENTS) return [];
  const message = `${session}: the log is gone up to ${from}, and it keeps ${KEPT_EVENTS} events`;
  return [violation('nothing_acknowledged_lost', message)];
}

function checkUpdate(
  update: Recorded,
  entries: readonly LogEntry[],
  { from }: SessionLog,
): readonly Violation[] {
  const { outcome, id } = update;
  const found = (message: string) => [
    violation('nothing_acknowledged_lost', message, [update, ...entries.map(toText)]),
  ];
  if (entries.length > 1) return found(`${id} took effect ${entries.length} times`);
  if (outcome.kind === 'refused' && entries.length > 0) return found(`${id} was refused and done`);
  if (outcome.kind !== 'ok') return [];
  const { version = 0 } = outcome.result;
  if (version <= from) return [];
  if (entries.length === 0) return found(`${id} was acknowledged and is not in the log`);
  if (entries[0]?.version !== version) return found(`${id} was told another version`);
  return [];
}

function lastReads({ operations }: Recording): Map<string, Recorded> {
  const last = new Map<string, Recorded>();
  for (const read of operations) {
    if (read.operation.kind !== 'read' || read.outcome.kind !== 'ok') continue;
    const known = last.get(nameOf(read));
    if (known === undefined || known.invokedAt < read.invokedAt) last.set(nameOf(read), read);
  }
  return last;
}

function isUpdate({ operation: { kind } }: Recorded): boolean {
  return kind === 'write' || kind === 'cas' || kind === 'increment';
}

function nameOf({ session, operation }: Recorded): string {
  return 'key' in operation ? `${session} ${operation.key}` : session;
}

function readValue({ outcome }: Recorded): Json | undefined {
  return outcome.kind === 'ok' ? outcome.result.value : undefined;
}

function toText({ version, cause, update }: LogEntry): string {
  return `log ${version}: ${cause} ${JSON.stringify(update)}`;
}
