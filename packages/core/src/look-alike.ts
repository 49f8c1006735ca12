// Names that a person or a model takes for one another have one skeleton: without case, separators and
// the difference between 0 and O or 1, l and I, with letters of other scripts as the Latin ones they
// look like. A skeleton is only compared, never shown.

const LATIN: ReadonlyMap<string, string> = new Map([
  ...pairs('авгекмнопрстухіјѕԁԛԝһӏ', 'abrekmhonpctyxljsdqwhl'),
  ...pairs('αβγεηικνορτυχω', 'abyenlkvoptuxw'),
  ...pairs('01iıɩǀ|', 'ollllll'),
]);

const SEPARATORS = /[\s\p{P}\p{M}\p{C}\p{DI}]/gu;

export function skeletonOf(name: string): string {
  const plain = name.normalize('NFKD').toLowerCase().replace(SEPARATORS, '');
  return Array.from(plain, (letter) => LATIN.get(letter) ?? letter).join('');
}

/** Whether two different names could be taken for one another. */
export function looksLike(one: string, other: string): boolean {
  return one !== other && skeletonOf(one) === skeletonOf(other);
}

/** The groups of names that could be taken for one another. */
export function lookAlikes(names: readonly string[]): string[][] {
  const groups = Object.values(Object.groupBy(new Set(names), skeletonOf));
  return groups.filter((group): group is string[] => group !== undefined && group.length > 1);
}

function pairs(from: string, to: string): [string, string][] {
  const targets = [...to];
  return Array.from(from, (letter, index) => [letter, targets[index] ?? letter]);
}
