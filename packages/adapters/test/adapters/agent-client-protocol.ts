import { type AdapterFacts, NO_ADDRESS } from '../fixtures/adapter-facts.ts';

const EDITOR = 'agent-client-protocol-hostile.system.test.ts';

const PIPES = { never: 'a program is spoken to over pipes, which have no headers' };

export const facts: AdapterFacts = {
  endpoint: { transport: 'stdio', protocol: 'agent-client-protocol', command: 'sh' },
  misbehaviours: {
    'wrong ids': [
      [EDITOR, 'wrong ids'],
      [EDITOR, 'updates of others'],
    ],
    'two finals': [[EDITOR, 'two answers']],
    'events after the end': [[EDITOR, 'updates after the end']],
    'a stream without end': [[EDITOR, 'too much text']],
    'no end of a line or event': [[EDITOR, 'no newline']],
    'invalid UTF-8': [[EDITOR, 'not UTF-8']],
    'success with an error inside': [[EDITOR, 'result and error']],
    'a hang before or inside headers': PIPES,
    'a half-open connection': [[EDITOR, 'closes its output and stays']],
    'an address elsewhere': NO_ADDRESS,
    garbage: [[EDITOR, 'endless garbage']],
    'an answer too large': [[EDITOR, 'too much text']],
  },
};
