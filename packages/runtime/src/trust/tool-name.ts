import type { ITool } from '@starloom/sdk';

/** The words of a tool's name in lower case, without the plugin or server before the colon. */
export function nameWords(name: string): string[] {
  const colon = name.indexOf(':');
  const owner = wordsOf(name.slice(0, Math.max(0, colon)));
  const own = wordsOf(name.slice(colon + 1));
  const repeated = owner.length > 0 && owner.every((word, index) => word === own[index]);
  return repeated && own.length > owner.length ? own.slice(owner.length) : own;
}

/** `userEmail`, `user_email` and `User-Email` are the same two words. */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** Verbs that people use for the same thing. */
const SAME = [
  'create add make new write schedule generate set',
  'put store save keep remember note',
  'delete remove erase clear drop',
  'send message write mail email post',
  'update change edit modify set',
  'run execute start',
  'book reserve order',
].map((list) => list.split(' '));

/**
 * How a person may call the tool: by its command, or by its verb and one of its other words. Each word
 * stands for those that mean the same.
 */
export function toolNames({ name, command }: ITool): (readonly string[])[][] {
  const [verb = '', ...others] = nameWords(name);
  const verbs = [verb, ...SAME.filter((group) => group.includes(verb)).flat()];
  const byName = others.length === 0 ? [[verbs]] : [[verbs, others]];
  return command === undefined ? byName : [...byName, [[command]]];
}

/** Acts that need to be asked for by their kind, not by their object alone: words of the tool, words of the user. */
const GRAVE = [
  'delete remove erase clear drop wipe purge destroy trash truncate cancel rm del unlink uninstall' +
    ' / delete remove erase clear drop wipe purge destroy trash discard clean empty cancel rid prune tidy throw kick stop end',
  'pay payment money transfer withdraw wire donate invest sell refund buy purchase' +
    ' / pay transfer send wire withdraw refund return donate give split settle reimburse buy purchase order invest sell move repay raise schedule',
  'share invite forward / share invite forward send give let show pass add',
  'publish post tweet deploy push release' +
    ' / publish post tweet deploy push release announce say tell write share answer reply respond send message comment upload ship put',
  'grant authorize permit allow permission permissions ownership collaborator admin role' +
    ' / grant authorize permit allow give let add make invite permission access role owner',
  'run exec execute eval spawn install' +
    ' / run execute start launch install build test compile deploy check lint try fix make generate format use ask call have',
].map((row) => row.split(' / ').map((list) => list.split(' ')));

/** Words by which a person asks for the kind of act that the tool is; `undefined` when any wording will do. */
export function graveWords({ name }: ITool): readonly string[] | undefined {
  const kinds = nameWords(name).map((word) => GRAVE.find(([of]) => of?.includes(word)));
  return kinds.find((kind) => kind !== undefined)?.[1];
}

/** A table of words, written as one text. */
export function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.split(' '));
}

const FOREIGN = /^(?:mcp|agent):/;

/** `mcp:<server>` or `agent:<id>` of what comes from outside, else `tool:<name>`. */
export function sourceOf(tool: ITool): string {
  return tool.source ?? `tool:${tool.name}`;
}

/** An MCP server or another agent runs it: its description and its results are foreign. */
export function isForeign(tool: ITool): boolean {
  return FOREIGN.test(sourceOf(tool));
}
