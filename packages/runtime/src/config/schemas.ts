import { z } from 'zod';

export const httpUrl = z.url({ protocol: /^https?$/ });

/** The list, empty by default; an error where two of its entries have the same name. */
export function withUniqueNames<Entry extends z.ZodType<{ readonly name: string }>>(
  list: z.ZodArray<Entry>,
  error: string,
) {
  const isUnique = (entries: readonly { readonly name: string }[]) =>
    new Set(entries.map(({ name }) => name)).size === entries.length;
  return list.default([]).refine(isUnique, { error });
}
