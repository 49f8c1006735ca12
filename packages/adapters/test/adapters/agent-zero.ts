import { type AdapterFacts, at, everyHttp } from '../fixtures/adapter-facts.ts';

const ZERO = 'agent-zero-hostile.test.ts';

const zero = (words: string) => [
  ...everyHttp(ZERO, 'agent-zero, http', words),
  ...everyHttp(ZERO, 'agent-zero, a2a', words),
];
const ONE_ANSWER = { never: 'a request has one answer, which is read once it is whole' };

export const facts: AdapterFacts = {
  endpoint: at('agent-zero'),
  mandateHeaders: [
    { lane: 'http' },
    { lane: 'a2a' },
    { lane: 'rfc', functions: { work: 'helpers.work.run' } },
  ],
  misbehaviours: {
    'wrong ids': [
      [ZERO, 'another task'],
      [ZERO, 'an answer to another request'],
    ],
    'two finals': ONE_ANSWER,
    'events after the end': ONE_ANSWER,
    'a stream without end': zero('JSON without end'),
    'no end of a line or event': zero('JSON without end'),
    'invalid UTF-8': zero('bytes that are not UTF-8'),
    'success with an error inside': [
      [ZERO, 'an error of its own'],
      ['agent-zero-lanes.test.ts', 'is its own answer: http'],
    ],
    'a hang before or inside headers': [...zero('before its head'), ...zero('inside its head')],
    'a half-open connection': zero('behind a socket that is half open'),
    'an address elsewhere': zero('a redirect'),
    garbage: zero('text that is no JSON'),
    'an answer too large': zero('JSON without end'),
  },
};
