// Which arguments say where an act goes: destinations, objects, amounts. The operator or the plugin
// names them; otherwise the name and the shape of an argument decide. Content, dates, booleans and
// choices from a fixed list are no targets. An argument that nothing is known of is an object.

import type { ITool, JsonSchema } from '@starloom/sdk';
import { nameWords, wordSet, wordsOf } from './tool-name.ts';
import { isUrlText } from './urls.ts';

export type TargetKind = 'destination' | 'object' | 'amount';

export interface Target {
  /** As a path: `recipients`, `attachments.id`. */
  readonly argument: string;
  readonly value: string;
  readonly kind: TargetKind;
  /** What it is one of, in lower case: `file` of `file_id`; else the nouns of the tool. */
  readonly nouns: readonly string[];
}

export interface CallParts {
  readonly targets: readonly Target[];
  /** Texts that the act carries. */
  readonly content: readonly string[];
  /** There was more than is read. */
  readonly cut: boolean;
}

const MOST_LEAVES = 2000;

const CONTENT = wordSet(
  'body text content message msg description desc title subject summary note comment caption headline heading prompt ' +
    'question answer reason detail explanation html markdown bio about signature paragraph line string replacement edit ' +
    'tag label keyword category location place venue greeting review feedback task goal topic template footer header ' +
    'instruction remark memo transcript abstract quote paragraph word agenda',
);
const DATES = wordSet(
  'date time day start end when deadline due until duration hour minute second week month year timezone tz at since ' +
    'before after expiry expiration reminder frequency interval recurrence recurring schedule',
);
/** How an act is done, not to what. */
const MANNER = wordSet(
  'type kind format language lang locale color colour unit currency mode method size sort order limit offset page count ' +
    'max min status state priority style theme encoding verbose force dry overwrite recursive confirm version ms timeout ' +
    'importance visibility energy',
);
const DESTINATIONS = wordSet(
  'to cc bcc recipient receiver email mail address url uri link href host hostname domain endpoint webhook callback account ' +
    'iban channel phone attendee participant guest invitee member user username payee beneficiary server destination ' +
    'contact wallet chat group room assignee owner friend follower remote',
);
const AMOUNTS = wordSet(
  'amount price sum total quantity qty value cost fee limit balance percent percentage rate share budget',
);
/** Says nothing by itself: the word before it does. */
const SUFFIXES = wordSet('name list field value data new old input');
const IDS = wordSet('id uid uuid key number no nr ref reference');
const DATE_VALUE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?$|^\d{1,2}:\d{2}(?::\d{2})?$/;

export const ADDRESS = /^[^\s@<>"]+@[^\s@<>"]+\.[^\s@<>".]+$/;

export function partsOf(tool: ITool, args: unknown): CallParts {
  const targets: Target[] = [];
  const content: string[] = [];
  const fixed = choicesOf(tool.parameters);
  let leaves = 0;
  const open: Leaf[] = [{ path: [], value: args }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, value } = next;
    if (typeof value === 'object' && value !== null) {
      open.push(...childrenOf(next).reverse());
      continue;
    }
    leaves += 1;
    if (leaves > MOST_LEAVES) break;
    if (value === undefined || value === null || value === '') continue;
    if (typeof value === 'boolean' || fixed.has(path[0] ?? '')) continue;
    const kind = kindOf(next, tool.targets);
    if (kind === 'content') content.push(String(value));
    else if (kind !== 'none') {
      const argument = path.join('.');
      const nouns = nounsOf(path.at(-1) ?? '', tool);
      const values = kind === 'destination' ? addressesIn(String(value)) : [String(value)];
      targets.push(...values.map((one) => ({ argument, value: one, kind, nouns })));
    }
  }
  return { targets, content, cut: leaves > MOST_LEAVES };
}

interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

type Kind = TargetKind | 'content' | 'none';

function childrenOf({ path, value }: Leaf): Leaf[] {
  const isList = Array.isArray(value);
  const entries = Object.entries(value as object);
  return entries.map(([key, member]) => ({ path: isList ? path : [...path, key], value: member }));
}

function kindOf({ path, value }: Leaf, named: readonly string[] | undefined): Kind {
  const all = singularWords(wordsOf(path.at(-1) ?? ''));
  const last = all.at(-1) ?? '';
  const word = SUFFIXES.has(last) ? (all.at(-2) ?? last) : last;
  const text = String(value).trim();
  const isNamed = named?.includes(path[0] ?? '') ?? false;
  if (!isNamed && CONTENT.has(word)) return 'content';
  if (!isNamed && named) return text.length > 200 ? 'content' : 'none';
  if (ADDRESS.test(text) || isUrlText(text)) return 'destination';
  if (!isNamed && (DATES.has(word) || DATE_VALUE.test(text))) return 'none';
  if (!isNamed && MANNER.has(word) && !AMOUNTS.has(word)) return 'none';
  if (typeof value === 'number') return IDS.has(last) ? 'object' : 'amount';
  if (AMOUNTS.has(word) && !Number.isNaN(Number(text))) return 'amount';
  return DESTINATIONS.has(word) ? 'destination' : 'object';
}

/** `Ann <ann@a.example>; bob@a.example` are two addresses. */
function addressesIn(text: string): string[] {
  const parts = text.split(/[,;]/).map((part) => (/<([^<>]+)>\s*$/.exec(part)?.[1] ?? part).trim());
  return parts.every((part) => ADDRESS.test(part)) ? parts : [text];
}

function nounsOf(argument: string, { name }: ITool): string[] {
  const own = singularWords(wordsOf(argument)).filter((word) => !IDS.has(word));
  return own.length > 0 ? own : singularWords(nameWords(name).slice(1));
}

const choices = new WeakMap<JsonSchema, ReadonlySet<string>>();

/** Arguments that are chosen from a fixed list, here or in a definition of the schema. */
function choicesOf(parameters: JsonSchema): ReadonlySet<string> {
  const known = choices.get(parameters);
  if (known) return known;
  const definitions: Record<string, unknown> = Object(parameters.$defs ?? parameters.definitions);
  const isChoice = ([, schema]: [string, unknown]) => {
    const text = JSON.stringify(schema) ?? '';
    const [, name = ''] = /"\$ref":"#\/[^"]*\/([^"]+)"/.exec(text) ?? [];
    return /"(?:enum|const)":/.test(`${text}${JSON.stringify(definitions[name]) ?? ''}`);
  };
  const found = Object.entries(Object(parameters.properties)).filter(isChoice);
  choices.set(parameters, new Set(found.map(([name]) => name)));
  return choicesOf(parameters);
}

export function singularWords(list: readonly string[]): string[] {
  return list.map((word) =>
    word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word,
  );
}
