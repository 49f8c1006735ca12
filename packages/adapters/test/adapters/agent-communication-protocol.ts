import { type AdapterFacts, at, everyHttp } from '../fixtures/adapter-facts.ts';

const RUNS = 'agent-communication-protocol-hostile.test.ts';

const runs = (words: string) => everyHttp(RUNS, 'agent-communication-protocol', words);

export const facts: AdapterFacts = {
  endpoint: at('agent-communication-protocol'),
  mandateHeaders: [{ mode: 'sync' }],
  misbehaviours: {
    'wrong ids': [[RUNS, 'another run']],
    'two finals': [[RUNS, 'ends with the first end: what follows is dropped']],
    'events after the end': [[RUNS, 'is cut off when it keeps sending after its end']],
    'a stream without end': [[RUNS, 'of events without end']],
    'no end of a line or event': [[RUNS, 'with an event without end']],
    'invalid UTF-8': runs('bytes that are not UTF-8'),
    'success with an error inside': [[RUNS, 'with a failed run is the answer of the agent']],
    'a hang before or inside headers': [...runs('before its head'), ...runs('inside its head')],
    'a half-open connection': runs('behind a socket that is half open'),
    'an address elsewhere': [
      [RUNS, 'that points elsewhere is not followed'],
      ...runs('a redirect'),
    ],
    garbage: runs('text that is no JSON'),
    'an answer too large': runs('JSON without end'),
  },
};
