/** Name and value of a git setting. */
export type Setting = readonly [name: string, value: string];

/** Over whatever the repository says. An empty program is none. */
export const FIXED_SETTINGS: readonly Setting[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.askPass', 'false'],
  ['core.sshCommand', 'false'],
  ['core.gitProxy', ''],
  ['core.attributesFile', '/dev/null'],
  ['core.quotePath', 'false'],
  ['credential.helper', ''],
  ['diff.external', ''],
  ['diff.submodule', 'short'],
  ['status.submoduleSummary', 'false'],
  ['submodule.recurse', 'false'],
  ['log.showSignature', 'false'],
  ['commit.gpgSign', 'false'],
  ['gpg.program', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
];

/** Settings in whose name stands a driver of the repository's own choosing. */
const PROGRAMS =
  /^(?:filter\..+\.(?:clean|smudge|process)|diff\..+\.(?:command|textconv)|merge\..+\.driver)$/is;

/** What it takes so that none of the programs named in these settings is run. */
export function disarm(names: readonly string[]): Setting[] {
  return names.flatMap((name): Setting[] => {
    if (!PROGRAMS.test(name)) return [];
    const driver = name.slice(0, name.lastIndexOf('.'));
    const isFilter = /^filter\./i.test(name);
    return isFilter
      ? [
          [name, ''],
          [`${driver}.required`, 'false'],
        ]
      : [[name, '']];
  });
}

/** Filters that change what is committed; without them a commit would hold something else. */
export function cleaningFilters(names: readonly string[]): string[] {
  return names.filter((name) => /^filter\..+\.(?:clean|process)$/is.test(name));
}
