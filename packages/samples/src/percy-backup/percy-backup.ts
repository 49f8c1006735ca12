import { percy } from '../percy/percy.ts';

/** Percy's work under another name and another transport, for when percy is away. */
export const percyBackup: typeof percy = {
  ...percy,
  id: 'percy-backup',
  description: `Stands in for percy. ${percy.description}`,
};
