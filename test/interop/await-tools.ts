import { expect, vi } from 'vitest';

/** How long a test waits for what the gateway does by itself; a hang guard, not a measure. */
export const PATIENCE = { timeout: 20_000, interval: 100 };

interface Lister<Tool> {
  list?(): Promise<readonly Tool[]>;
  listTools?(): Promise<{ readonly tools: readonly Tool[] }>;
}

/** The tools that a client lists, once all of these are among them. */
export async function awaitTools<Tool extends { readonly name: string }>(
  client: Lister<Tool>,
  ...expected: readonly string[]
): Promise<readonly Tool[]> {
  return vi.waitFor(async () => {
    const tools = (await client.list?.()) ?? (await client.listTools?.())?.tools ?? [];
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...expected]));
    return tools;
  }, PATIENCE);
}
