// Which arguments say where an act goes: destinations, objects, amounts. The operator or the plugin
// names them; otherwise the name and the shape of an argument decide. Content, dates, booleans, plain
// numbers and choices from a fixed list are no targets. An argument that nothing is known of is an object.

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
    'question answer reason detail explanation html markdown bio signature paragraph replacement greeting review feedback ' +
    'footer header remark memo transcript abstract quote agenda',
);
/** Content of a thing that the act creates; of one that it changes or sends, a target. */
const CONTENT_OF_NEW = wordSet(
  'location place venue task goal topic category tag label keyword instruction template line word string edit about',
);
const CREATES = wordSet('create add new write append draft log make insert schedule note save');
const DATES = wordSet(
  'date time day start end when deadline due until duration hour minute second week month year timezone tz at since ' +
    'before after expiry expiration reminder frequency interval recurrence recurring schedule',
);
/** How an act is done, not to what: one plain word. */
const MANNER = wordSet(
  'format language lang locale color colour unit currency sort status state priority style theme encoding importance energy',
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
const PLAIN_DATE = /^[\p{L}\d\s:.,+/-]{1,40}$/u;
const PLAIN_WORD = /^\p{L}[\p{L}-]{0,15}$/u;

export const ADDRESS = /^[^\s@<>"/\\:?#]+@[^\s@<>"/\\:?#]+\.[^\s@<>"/\\:?#.]+$/;

export function partsOf(tool: ITool, args: unknown): CallParts {
  const targets: Target[] = [];
  const content: string[] = [];
  let leaves = 0;
  const open: Leaf[] = [{ path: [], value: args, schemas: formsOf(tool, tool.parameters) }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, value } = next;
    if (typeof value === 'object' && value !== null) {
      open.push(...childrenOf(next, tool).reverse());
      continue;
    }
    leaves += 1;
    if (leaves > MOST_LEAVES) break;
    if (value === undefined || value === null || value === '' || typeof value === 'boolean')
      continue;
    const kind = kindOf(next, tool);
    if (kind === 'content') content.push(String(value));
    else {
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
  /** What the schema of the tool says of it, one of these. */
  readonly schemas: readonly JsonSchema[];
}

type Kind = TargetKind | 'content';

/** Keys of a map are values, too: `{"eve@evil.example": "write"}`. */
function childrenOf({ path, value, schemas }: Leaf, tool: ITool): Leaf[] {
  if (Array.isArray(value)) {
    const items = schemas.flatMap((one) => formsOf(tool, one.items));
    return value.map((member) => ({ path, value: member, schemas: items }));
  }
  return Object.entries(value as object).flatMap(([key, member]) => {
    const declared = schemas.flatMap((one) => formsOf(tool, Object(one.properties)[key]));
    const others = schemas.flatMap((one) => formsOf(tool, one.additionalProperties));
    const isMap =
      path.length > 0 && others.some(({ type }) => type !== undefined && type !== 'object');
    const isName = declared.length > 0 || (!isMap && /^[A-Za-z_][\w-]*$/.test(key));
    const own = { path: [...path, key], value: member, schemas: [...declared, ...others] };
    return isName ? [own] : [{ path, value: key, schemas: [] }, own];
  });
}

/** A schema with its references and alternatives taken apart. */
function formsOf(tool: ITool, schema: unknown, depth = 0): JsonSchema[] {
  if (typeof schema !== 'object' || schema === null || depth > 8) return [];
  const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema as Record<string, unknown>;
  const [, table = '', name = ''] = /^#\/(\$defs|definitions)\/(.+)$/.exec(String($ref)) ?? [];
  const others = [anyOf, oneOf, allOf].flat().concat(Object(tool.parameters[table])[name] ?? []);
  return [schema as JsonSchema, ...others.flatMap((one) => formsOf(tool, one, depth + 1))];
}

/** Content is all that is no target; it is still searched for secrets and links. */
function kindOf({ path, value, schemas }: Leaf, tool: ITool): Kind {
  const all = singularWords(wordsOf(path.at(-1) ?? ''));
  const last = all.at(-1) ?? '';
  const word = SUFFIXES.has(last) ? (all.at(-2) ?? last) : last;
  const text = String(value).trim();
  const isNamed = tool.targets?.includes(path[0] ?? '') ?? false;
  const isSure = isNamed && path.length === 1;
  if (!isSure && isContent(word, tool)) return 'content';
  if (tool.targets && !isNamed) return 'content';
  if (ADDRESS.test(text) || isUrlText(text)) return 'destination';
  const isChoice = schemas.some(
    (one) => one.const === value || (Array.isArray(one.enum) && one.enum.includes(value)),
  );
  if (isChoice) return 'content';
  if (!isSure && (DATE_VALUE.test(text) || (DATES.has(word) && PLAIN_DATE.test(text))))
    return 'content';
  const isManner = MANNER.has(word) || (path.length > 1 && /^(?:type|kind)$/.test(word));
  if (!isSure && isManner && PLAIN_WORD.test(text)) return 'content';
  if (!isSure && text === '1' && /^(?:quantity|qty)$/.test(word)) return 'content';
  if (AMOUNTS.has(word) && !Number.isNaN(Number(text))) return 'amount';
  if (typeof value === 'number' && !isSure) {
    if (IDS.has(last)) return 'object';
    return singularWords(nameWords(tool.name)).includes(word) ? 'amount' : 'content';
  }
  return DESTINATIONS.has(word) ? 'destination' : 'object';
}

function isContent(word: string, tool: ITool): boolean {
  const [verb = ''] = nameWords(tool.name);
  return CONTENT.has(word) || (CONTENT_OF_NEW.has(word) && CREATES.has(verb));
}

/** `Ann <ann@a.example>; bob@a.example` are two addresses. */
function addressesIn(text: string): string[] {
  const parts = text.split(/[,;]/).map((part) => (/<([^<>]+)>\s*$/.exec(part)?.[1] ?? part).trim());
  return parts.every((part) => ADDRESS.test(part)) ? parts : [text];
}

function nounsOf(argument: string, { name }: ITool): string[] {
  const own = singularWords(wordsOf(argument)).filter((word) => !IDS.has(word) && word !== 'path');
  return own.length > 0 ? own : singularWords(nameWords(name).slice(1));
}

/** `status`, `address` and `analysis` are no plurals. */
export function singularWords(list: readonly string[]): string[] {
  return list.map((word) =>
    /[^aeious]s$|[aeo]s$/.test(word) && word.length > 3
      ? word.replace(/ies$/, 'y').replace(/(?<=[sxz]|[cs]h)es$|s$/, '')
      : word,
  );
}
