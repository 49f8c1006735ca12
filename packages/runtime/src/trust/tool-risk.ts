// How much harm a call could do if somebody else chose it. A tool says so itself, but cannot make less of
// what its name says: one that writes, runs, sends or remembers is high risk. An operator who sees it
// otherwise says so in the policy. Of a tool whose name says nothing, the worst is assumed when others run it.

import type { ITool, ToolRisk } from '@starloom/sdk';
import { isForeign } from './tool-source.ts';

const HEIGHT = { low: 0, medium: 1, high: 2 } as const satisfies Record<ToolRisk, number>;

const ACTS = words(
  'write edit append delete remove destroy drop truncate move rename replace patch update create insert add set put ' +
    'exec execute run shell bash command spawn eval script start stop restart kill install uninstall ' +
    'send post publish upload share forward reply email mail message notify tweet comment invite ' +
    'push commit merge deploy release apply rollback reset checkout ' +
    'pay transfer buy order refund book cancel approve grant revoke register submit enable disable ' +
    'remember store save fabric delegate call ask',
);
const READS = words(
  'read list get search find show status describe view fetch lookup query count open head tail stat diff log blame ' +
    'tree grep glob info inspect check validate lint parse preview time now date echo ping help recall summarize ' +
    'calculate compute convert translate',
);
const EXITS = words(
  'http https web browser url fetch download request send post publish upload share forward reply email mail message ' +
    'notify tweet comment webhook push fabric delegate slack sms dns exec execute shell bash command',
);
const MUTATING_SQL =
  /\b(?:drop\s+(?:table|database|schema|view|index)|delete\s+from|truncate\s+(?:table\s+)?\w|insert\s+into|update\s+\w+\s+set|alter\s+(?:table|user|role)|grant\s+\w|create\s+(?:user|role|function|trigger)|copy\s+\w+\s+(?:to|from)\s+program)/i;

export function riskOf(tool: ITool, strings: readonly string[] = []): ToolRisk {
  const named = riskByName(tool);
  const risk = tool.risk && isAtLeast(tool.risk, named ?? 'low') ? tool.risk : named;
  if (risk === 'high' || strings.some((text) => MUTATING_SQL.test(text))) return 'high';
  return risk ?? (isForeign(tool) ? 'high' : 'medium');
}

/** A call of it carries what is in its arguments out of this machine. */
export function isExit(tool: ITool): boolean {
  return isForeign(tool) || wordsIn(tool.name).some((word) => EXITS.has(word));
}

export function isAtLeast(risk: ToolRisk, least: ToolRisk): boolean {
  return HEIGHT[risk] >= HEIGHT[least];
}

/** `get_order` reads although an order can be given; `get_or_create` does not only read. */
function riskByName(tool: ITool): ToolRisk | undefined {
  const name = wordsIn(tool.name.slice(tool.name.indexOf(':') + 1));
  const reads = READS.has(name[0] ?? '') && !name.includes('or') && !name.includes('and');
  if (!reads && name.some((word) => ACTS.has(word))) return 'high';
  if (!name.some((word) => READS.has(word))) return undefined;
  return isExit(tool) && !isForeign(tool) ? 'medium' : 'low';
}

function wordsIn(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(' '));
}
