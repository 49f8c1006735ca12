import { describe, expect, it } from 'vitest';
import { complete } from '../src/commands/agent-chat.ts';

const COMMANDS = ['help', 'list', 'read', 'reset'];

describe('completion in a chat', () => {
  it('offers the commands that begin with what is typed', () => {
    expect(complete('/re', COMMANDS)).toEqual([['/read ', '/reset '], '/re']);
    expect(complete('/', COMMANDS)[0]).toHaveLength(4);
  });

  it.each(['re', '/read no', 'say /re', ''])('leaves %j alone', (line) => {
    expect(complete(line, COMMANDS)).toEqual([[], line]);
  });
});
