import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openCount, parseInTurns, parseValue, refusedId } from '../../src/transports/frame.ts';

const reasonOf = (text: string) => {
  try {
    parseValue(text);
    return undefined;
  } catch (error) {
    return FabricError.from(error).details.reason;
  }
};

/** Makes the text long enough to be counted before it is parsed. */
const long = (json: string) => `{"pad":"${'x'.repeat(10_000)}","value":${json}}`;

describe('frames', () => {
  it.each([
    ['duplicate_key', '{"jsonrpc":"2.0","method":"a","method":"b"}'],
    ['duplicate_key', '{"params":{"name" : "a", "na\\u006de":"b"}}'],
    ['duplicate_key', '[{"a":{"b":1,"b":1}}]'],
    [undefined, '{"a":"b\\":","b":["a","b:",{"a":{}}],"c":":"}'],
    ['too_deep', `${'['.repeat(100)}${']'.repeat(100)}`],
    ['too_many_values', `[${'0,'.repeat(250_000)}0]`],
    ['inexact_number', '[1,"9007199254740993",9007199254740993]'],
    ['inexact_number', '{"a\\"":-90071992547409931}'],
    [undefined, '["9007199254740993 \\" 9007199254740993",1e300,-9007199254740992,1e21]'],
    [undefined, '[9007199254740994,12345678901234567000,9007199254740993.5]'],
    ['not_json', '[1e400]'],
    ['not_json', '[1,]'],
  ])('are judged the same whether they are long or not: %s', (reason, json) => {
    expect(reasonOf(json)).toBe(reason);
    expect(reasonOf(long(json))).toBe(reason);
  });

  it.each(['[1,2]', '{"a":1,"a":2}', '{"__proto__":{}}', '{', '12345678901234567'])(
    'that are large are read alike in several turns: %s',
    async (json) => {
      let turns = 0;
      const nextTurn = () => {
        turns += 1;
        return undefined;
      };
      const inTurns = await parseInTurns(json, nextTurn).catch((error: FabricError) => error);
      const atOnce = reasonOf(json);
      if (atOnce === undefined) expect(inTurns).toEqual(JSON.parse(json));
      else expect(FabricError.from(inTurns).details.reason).toBe(atOnce);
      const refusedAfter = atOnce === 'not_json' ? 1 : 2;
      expect(turns).toBe(atOnce === undefined ? 3 : refusedAfter);
    },
  );

  it('[G9] of too many values are refused before they are parsed', () => {
    const notEvenJson = `[${'0,'.repeat(1_000_000)}`;
    expect(reasonOf(notEvenJson)).toBe('too_many_values');
    const refused = new FabricError('BAD_INPUT', 'refused', { details: { rpc_code: -32600 } });
    expect(refusedId(notEvenJson, refused)).toBeNull();
    expect(refusedId('{"id":7}', refused)).toBe(7);
  });

  it('that come in parts are counted: a small one is left to the parser, which finds its id', () => {
    const count = openCount();
    count(`{"id":7,"params":${'['.repeat(100)}`);
    count('"'.padEnd(60_000, 'x'));
    expect(() => count('x'.repeat(10_000))).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  });
});
