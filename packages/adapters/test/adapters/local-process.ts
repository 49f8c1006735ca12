import { type AdapterFacts, NO_ADDRESS } from '../fixtures/adapter-facts.ts';

const PROCESS = 'local-process.system.test.ts';

export const facts: AdapterFacts = {
  endpoint: { transport: 'process', command: 'sh' },
  misbehaviours: {
    'wrong ids': [
      ['local-process-pooled.system.test.ts', 'passes over lines of calls it does not know'],
    ],
    'two finals': [[PROCESS, 'keeps the first of two answers, whatever follows it']],
    'events after the end': [[PROCESS, 'keeps the first of two answers, whatever follows it']],
    'a stream without end': [[PROCESS, 'streams for ever']],
    'no end of a line or event': [[PROCESS, 'an endless line']],
    'invalid UTF-8': [[PROCESS, 'bytes that are not UTF-8']],
    'success with an error inside': [
      ['local-process-presets.system.test.ts', "type: 'result', is_error: true"],
    ],
    'a hang before or inside headers': [[PROCESS, 'never answers']],
    'a half-open connection': [[PROCESS, 'is ended when it closes its output without an answer']],
    'an address elsewhere': NO_ADDRESS,
    garbage: [[PROCESS, 'is UPSTREAM_ERROR for garbage']],
    'an answer too large': [[PROCESS, 'a hundred megabytes']],
  },
};
