export interface Amount {
  readonly entries: number;
  readonly bytes: number;
}

export const NOTHING: Amount = { entries: 0, bytes: 0 };

export function sum(a: Amount, b: Amount): Amount {
  return { entries: a.entries + b.entries, bytes: a.bytes + b.bytes };
}

export function difference(a: Amount, b: Amount): Amount {
  return { entries: a.entries - b.entries, bytes: a.bytes - b.bytes };
}

export function covers(a: Amount, b: Amount): boolean {
  return a.entries >= b.entries && a.bytes >= b.bytes;
}

interface Sized {
  readonly bytes: number;
}

export function amountOf(items: readonly Sized[]): Amount {
  return { entries: items.length, bytes: items.reduce((bytes, item) => bytes + item.bytes, 0) };
}

/** As many of the first as it takes to have this much; all, if they are less. */
export function firstThatCover<Item extends Sized>(
  items: readonly Item[],
  wanted: Amount,
): readonly Item[] {
  let amount = NOTHING;
  const end = items.findIndex((item) => {
    if (covers(amount, wanted)) return true;
    amount = sum(amount, { entries: 1, bytes: item.bytes });
    return false;
  });
  return end === -1 ? items : items.slice(0, end);
}
