export { type JournalPlace, type OpenJournalOptions, openJournal } from './open-journal.ts';
