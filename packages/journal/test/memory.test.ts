import { describe } from 'vitest';
import { openJournal } from '../src/index.ts';
import { journalContract } from './contract/journal-contract.ts';

describe('the journal in memory', () => {
  journalContract((calls) => openJournal({ kind: 'memory' }, { calls, gateway: 'node-a' }));
});
