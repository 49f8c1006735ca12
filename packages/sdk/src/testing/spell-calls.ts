import type { FakeTool } from './fake-request.ts';
import type { FakeCall, FakePart, FakeSpeech } from './fake-script.ts';

/**
 * The calls of a speech by the names that the request offered: a script says `fs:read_file`, the
 * request offered `fs_read_file`. A name that was not offered stays as it is.
 */
export function spellCalls(speech: FakeSpeech, tools: readonly FakeTool[]): FakeSpeech {
  const parts = speech.parts.map((part): FakePart => {
    return 'call' in part ? { call: spell(part.call, tools) } : part;
  });
  return { ...speech, parts };
}

function spell(call: FakeCall, tools: readonly FakeTool[]): FakeCall {
  const names = tools.map(({ name }) => name);
  if (names.includes(call.name)) return call;
  const alike = names.filter((name) => letters(name) === letters(call.name));
  const [name] = alike;
  return name === undefined || alike.length > 1 ? call : { ...call, name };
}

function letters(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, '');
}
