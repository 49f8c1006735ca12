// Approves what agents changed. It works on the state folder: a gateway that runs follows within a second.

import { Closers, isObject, normalName, silentLog, systemClock } from '@starloom/core';
import { type AgentPins, approveHeld, type HeldPin, readPins } from '@starloom/gateway/pins';
import { AuditLog, SigningKeys } from '@starloom/identity';
import { confirm, userName } from '../command-line.ts';
import { joinRealm } from '../realm.ts';
import { count, nearestOr, toUsageError } from '../report-error.ts';
import { auditFolder, identityFolder, makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { diffLines, paint, paintChange, toVisible } from '../terminal-text.ts';
import type { ApproveOptions } from './agents.ts';

interface Waiting {
  readonly agent_id: string;
  readonly tools: readonly { held: HeldPin; differences: readonly Difference[] }[];
}

export async function approveAgents(
  terminal: Terminal,
  agentId: string | undefined,
  options: ApproveOptions,
): Promise<void> {
  const folder = await makeStateFolder(terminal.env);
  const waiting = choose(await readPins(folder), agentId, options);
  const isAsked = !options.dryRun && waiting.length > 0;
  if (!options.json) show(terminal, waiting, agentId);
  if (!isAsked || !(await isConfirmed(terminal, waiting, options))) {
    if (options.json) print(terminal, waiting, false);
    else if (isAsked) terminal.tell('nothing was approved');
    return;
  }
  const by = `command: ${userName()}`;
  for (const { agent_id, tools } of waiting) {
    const shown = tools.map(({ held }) => held);
    await approveHeld(folder, { agentId: agent_id, shown, by, now: Date.now() });
  }
  await joinRealm(terminal, options);
  await record(terminal, folder, waiting, by);
  if (options.json) return print(terminal, waiting, true);
  terminal.tell(`approved ${count(sizeOf(waiting), 'tool')}; a gateway that runs serves them now`);
}

function choose(
  agents: readonly AgentPins[],
  agentId: string | undefined,
  { all, tool }: ApproveOptions,
): Waiting[] {
  const holding = agents.filter(({ held }) => held.length > 0);
  if (agentId === undefined && !all) {
    const ids = holding.map(({ agent_id }) => agent_id);
    const fix = ids.length > 0 ? `tools of these wait: ${ids.join(', ')}` : 'no tool waits';
    throw toUsageError('name an agent, or pass --all', fix);
  }
  const named = holding.filter(({ agent_id }) => all || agent_id === agentId);
  const isChosen = ({ definition }: HeldPin) =>
    tool?.some((name) => isNamed(definition.name, name)) ?? true;
  for (const name of tool ?? []) assertWaits(name, named);
  const chosen = named.map(({ agent_id, pins, held }) => ({
    agent_id,
    tools: held.filter(isChosen).map((one) => {
      const pin = pins.find(({ definition }) => definition.name === one.definition.name);
      return { held: one, differences: differences(pin?.definition ?? {}, one.definition) };
    }),
  }));
  return chosen.filter(({ tools }) => tools.length > 0);
}

function assertWaits(name: string, agents: readonly AgentPins[]): void {
  const names = agents.flatMap(({ held }) => held.map(({ definition }) => definition.name));
  if (names.some((one) => isNamed(one, name))) return;
  const waiting = names.length > 0 ? `those that wait: ${names.join(', ')}` : 'no tool waits';
  throw toUsageError(`no tool "${name}" waits for approval`, nearestOr(waiting, name, names));
}

function show(terminal: Terminal, waiting: readonly Waiting[], agentId: string | undefined): void {
  if (waiting.length === 0) {
    const whose = agentId === undefined ? '' : ` of ${agentId}`;
    terminal.tell(`no tool${whose} waits for approval`);
  }
  for (const { agent_id, tools } of waiting) {
    for (const { held, differences: found } of tools) {
      const head = paint('bold', `${agent_id} ${held.definition.name}`);
      terminal.print(`${head}: ${wordsFor(held)}`);
      for (const line of found.flatMap(differenceLines)) terminal.print(`  ${paintChange(line)}`);
      terminal.print('');
    }
  }
}

function wordsFor({ reason, like, seen_at }: HeldPin): string {
  const words = {
    changed: 'changed after it was approved',
    new: 'new',
    look_alike: `new, and looks like "${like}"`,
  };
  return `${words[reason]}; first seen ${seen_at}`;
}

function print(terminal: Terminal, waiting: readonly Waiting[], approved: boolean): void {
  const agents = waiting.map(({ agent_id, tools }) => ({
    agent_id,
    tools: tools.map(({ held, differences: found }) => {
      const { definition, reason, like, seen_at, fingerprint } = held;
      return { name: definition.name, reason, like, seen_at, fingerprint, differences: found };
    }),
  }));
  terminal.json({ approved, agents });
}

async function isConfirmed(
  terminal: Terminal,
  waiting: readonly Waiting[],
  { yes, json }: ApproveOptions,
): Promise<boolean> {
  if (yes) return true;
  const many = count(sizeOf(waiting), 'tool');
  const isAgreed = json ? undefined : await confirm(terminal, `Approve ${many} as shown?`);
  if (isAgreed !== undefined) return isAgreed;
  throw toUsageError('no person can be asked here', 'pass --yes to approve, or --dry-run to look');
}

/** One line for each agent; the approval holds also where it cannot be written. */
async function record(
  terminal: Terminal,
  stateFolder: string,
  waiting: readonly Waiting[],
  by: string,
): Promise<void> {
  try {
    const [clock, log] = [systemClock, silentLog];
    await using opened = new Closers();
    const keys = await SigningKeys.open({ folder: identityFolder(stateFolder), clock, log });
    opened.add(() => keys.close());
    const audit = await AuditLog.open({ folder: auditFolder(stateFolder), keys, clock, log });
    opened.add(() => audit.close());
    for (const { agent_id, tools } of waiting) {
      const capabilities = tools.map(({ held: { definition, fingerprint } }) => ({
        name: definition.name,
        fingerprint,
      }));
      await audit.recorded({ type: 'pin', decision: 'approved', agent_id, capabilities, by });
    }
  } catch (error) {
    terminal.tell(`warning: the approval is not in the audit log: ${String(error)}`);
  }
}

function sizeOf(waiting: readonly Waiting[]): number {
  return waiting.reduce((sum, { tools }) => sum + tools.length, 0);
}

function isNamed(name: string, asked: string): boolean {
  return normalName(name) === normalName(asked);
}

// What an operator is shown before an approval: every difference between what was approved and what the
// agent says now, with characters that are not seen written out.

interface Difference {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

type Json = Readonly<Record<string, unknown>>;

/** In the order of the fields; everything of the second one when there is no first one. */
export function differences(before: Json, after: Json): Difference[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => differ(toVisible(key), memberOf(before, key), memberOf(after, key)));
}

function differ(path: string, before: unknown, after: unknown): Difference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isObject(before) && isObject(after)) {
    return differences(before, after).map((each) => ({ ...each, path: `${path}.${each.path}` }));
  }
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

/** `- ` before what is gone and `+ ` before what is new, a line each. */
export function differenceLines({ path, before, after }: Difference): string[] {
  const { changes } = diffLines(toLines(before), toLines(after));
  return [path, ...changes.map((line) => `  ${line}`)];
}

function toLines(value: unknown): string[] {
  if (value === undefined) return [];
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return text.split('\n').map(toVisible);
}

function memberOf(value: Json, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}
