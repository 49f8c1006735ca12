import { type AdapterFacts, at } from '../fixtures/adapter-facts.ts';

const A2A = 'a2a-hostile.test.ts';

export const facts: AdapterFacts = {
  endpoint: at('a2a'),
  mandateHeaders: [{}],
  misbehaviours: {
    'wrong ids': [
      [A2A, 'sends events of another task'],
      [A2A, 'answers a request that was not made'],
    ],
    'two finals': [[A2A, 'ends with its first final, whatever it says after that']],
    'events after the end': [[A2A, 'ends with its first final, whatever it says after that']],
    'a stream without end': [
      [A2A, 'a stream without an end'],
      ['a2a-grpc-hostile.test.ts', 'is cut off when its stream has no end'],
    ],
    'no end of a line or event': [[A2A, 'an event without an end']],
    'invalid UTF-8': [[A2A, 'sends bytes that are not UTF-8']],
    'success with an error inside': [
      [A2A, 'says 200 with an error inside'],
      [A2A, 'an error as an item'],
    ],
    'a hang before or inside headers': [
      [A2A, 'before its headers'],
      [A2A, 'inside its headers'],
      ['a2a-grpc-hostile.test.ts', 'says nothing at all'],
    ],
    'a half-open connection': [[A2A, 'behind a socket that is half open']],
    'an address elsewhere': [
      ['a2a-card.test.ts', 'the metadata of a cloud'],
      [A2A, 'sends us elsewhere'],
    ],
    garbage: [[A2A, 'streams what is no JSON']],
    'an answer too large': [
      [A2A, 'announces an answer that is too large'],
      ['a2a-grpc-hostile.test.ts', 'sends a message over the limit'],
    ],
  },
};
