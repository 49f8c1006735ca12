import { reasonTable } from '@starloom/core';

const WRITABLE = 'Let the gateway write to the state folder, and check its disk';

/** Why the journal cannot be written or read. Calls go on without it. */
export const failure = reasonTable({
  journal_unavailable: {
    code: 'OVERLOADED',
    message: 'The journal cannot be used: {cause}',
    fix: WRITABLE,
  },
  'journal_unavailable/closed': {
    code: 'OVERLOADED',
    message: 'The journal is closed',
    fix: 'Start the gateway again',
  },
  disk_full: {
    code: 'OVERLOADED',
    message: 'The disk is nearly full: the journal does not take new calls',
    fix: 'Make room on the disk of the state folder',
  },
  in_use: {
    code: 'OVERLOADED',
    message: 'Another process uses the journal',
    fix: 'Stop the other gateway, or give this one a state folder of its own',
  },
  foreign: {
    code: 'OVERLOADED',
    message: 'The file is not a journal',
    fix: 'Move the file away',
  },
  older_store: {
    code: 'OVERLOADED',
    message: 'The journal was written by an older version',
    fix: 'Move the journal away',
  },
  newer_store: {
    code: 'OVERLOADED',
    message: 'The journal was written by a newer version',
    fix: 'Use the newer version of starloom, or move the journal away',
  },
});
