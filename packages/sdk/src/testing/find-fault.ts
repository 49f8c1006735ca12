// What the real services refuse with 400, so that a provider that would fail there fails here too.

import type { FakeMessage, FakeQuestion } from './fake-request.ts';

const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Why the request is malformed; `undefined` when it is not. */
export function findFault({ tools, messages }: FakeQuestion): string | undefined {
  const offered = tools.map(({ name }) => name);
  const called = messages.flatMap(callsOf).map(({ name }) => name);
  return findBadName([...offered, ...called]) ?? findTwin(offered) ?? findUnpaired(messages);
}

function findBadName(names: readonly string[]): string | undefined {
  const bad = names.find((name) => !TOOL_NAME.test(name));
  return bad === undefined ? undefined : `The tool name "${bad}" is not ${TOOL_NAME.source}`;
}

function findTwin(names: readonly string[]): string | undefined {
  const twin = names.find((name, index) => names.indexOf(name) !== index);
  return twin === undefined ? undefined : `The tool "${twin}" stands twice`;
}

/** The results of an assistant's calls stand in the next message, all of them and no others. */
function findUnpaired(messages: readonly FakeMessage[]): string | undefined {
  if (messages.length === 0) return 'There is no message';
  const [first] = messages;
  const pairs = messages.map((message, index) => [message, messages[index + 1]] as const);
  const stray = first === undefined ? [] : idsOf(resultsOf(first));
  if (stray.length > 0) return `The results ${stray} follow no calls`;
  for (const [message, next] of pairs) {
    const calls = idsOf(callsOf(message)).toSorted().join();
    const results = next === undefined ? '' : idsOf(resultsOf(next)).toSorted().join();
    if (calls !== results) return `The calls [${calls}] are followed by results of [${results}]`;
  }
  return undefined;
}

function callsOf({ parts }: FakeMessage) {
  return parts.flatMap((part) => ('call' in part ? [part.call] : []));
}

function resultsOf({ parts }: FakeMessage) {
  return parts.flatMap((part) => ('result' in part ? [part.result] : []));
}

/** By position where the wire has no ids. */
function idsOf(items: readonly { readonly id?: string }[]): string[] {
  return items.map(({ id }, index) => id ?? `#${index}`);
}
