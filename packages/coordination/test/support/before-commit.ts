import type { Commit, CoordinationStore } from '../../src/coordination-store.ts';

/** Lets something happen between what a commit was decided on and the commit itself; once. */
export function beforeCommit(
  store: CoordinationStore,
  isMeant: (partition: string, commit: Commit) => boolean,
  happen: () => Promise<unknown>,
): { readonly hasHappened: boolean } {
  const commit = store.commit.bind(store);
  const moment = { hasHappened: false };
  store.commit = async (partition, wanted) => {
    if (!moment.hasHappened && isMeant(partition, wanted)) {
      moment.hasHappened = true;
      await happen();
    }
    return await commit(partition, wanted);
  };
  return moment;
}

export function writesKey({ writes }: Commit, isMeant: (key: string) => boolean): boolean {
  return writes.some(({ key }) => isMeant(key));
}
