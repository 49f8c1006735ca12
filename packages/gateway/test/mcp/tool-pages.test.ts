import type { Client } from '@modelcontextprotocol/client';
import { manifestSchema } from '@starloom/core';
import { createPskVerifier } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { answers, connect, KEY, openTestGateway, STRANGER_KEY } from '../test-gateway.ts';

const TOOLS = 5_000;
const LIMIT = 200;

const numbered = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `tool_${String(n).padStart(4, '0')}` }));

/** Two agents with half of the tools each. */
async function openFleet(config: Record<string, unknown> = { list_limit: LIMIT }) {
  const fleet = { manifest: { capabilities: numbered(TOOLS / 2) }, run: answers('done') };
  const psk = createPskVerifier([
    { key_id: 'test', key: KEY, principal: 'tester', tier: 'org', scopes: ['*'] },
    {
      key_id: 'other',
      key: STRANGER_KEY,
      principal: 'stranger',
      tier: 'org',
      scopes: ['agent:one'],
    },
  ]);
  return await openTestGateway({ one: fleet, two: fleet }, { config: { mcp: config }, psk });
}

interface Page {
  readonly tools: readonly { readonly name: string }[];
  readonly nextCursor?: string | undefined;
}

async function pageOf(client: Client, cursor?: string): Promise<Page> {
  const params = cursor === undefined ? {} : { cursor };
  return (await client.request({ method: 'tools/list', params })) as Page;
}

async function allPages(client: Client): Promise<readonly Page[]> {
  const pages = [await pageOf(client)];
  for (let next = pages[0]?.nextCursor; next !== undefined; next = pages.at(-1)?.nextCursor) {
    pages.push(await pageOf(client, next));
  }
  return pages;
}

const namesIn = (pages: readonly Page[]) =>
  pages.flatMap(({ tools }) => tools.map(({ name }) => name));

describe('tools/list of a large fleet', () => {
  it.each(['auto', 'legacy'] as const)(
    'comes in pages within the limit, each of 5,000 tools once (%s)',
    async (mode) => {
      await using gateway = await openFleet();
      await using client = await connect(gateway.url, mode);
      const pages = await allPages(client);
      expect(pages.every(({ tools }) => tools.length <= LIMIT)).toBe(true);
      expect(pages[0]?.tools[0]?.name).toMatch(/^fabric\./);
      const names = namesIn(pages);
      expect(new Set(names).size).toBe(names.length);
      expect(names.filter((name) => !name.startsWith('fabric.'))).toHaveLength(TOOLS);
    },
  );

  it('is one page without a limit, and where all fit', async () => {
    await using unlimited = await openFleet({});
    await using all = await connect(unlimited.url);
    expect((await pageOf(all)).nextCursor).toBeUndefined();
    await using wide = await openFleet({ list_limit: TOOLS + 100 });
    await using client = await connect(wide.url);
    const { tools, nextCursor } = await pageOf(client);
    expect(nextCursor).toBeUndefined();
    expect(tools.length).toBeGreaterThan(TOOLS);
  });

  it('goes on after the last name when its agent offers other tools meanwhile', async () => {
    await using gateway = await openFleet();
    await using client = await connect(gateway.url);
    const { nextCursor } = await pageOf(client);
    await gateway.registry.register(
      manifestSchema.parse({
        agent_id: 'one',
        endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/', protocol: 'memory' },
        capabilities: [{ name: 'another' }],
        trust_tier: 'org',
      }),
    );
    const { tools } = await pageOf(client, nextCursor);
    expect(tools[0]?.name).toBe('two.tool_0000');
  });

  it('shows a caller only what it may use, also with the cursor of another', async () => {
    await using gateway = await openFleet();
    await using client = await connect(gateway.url);
    await using stranger = await connect(gateway.url, 'auto', {
      authorization: `Bearer ${STRANGER_KEY}`,
    });
    const pages = await allPages(stranger);
    expect(namesIn(pages).filter((name) => name.startsWith('two.'))).toEqual([]);
    expect(namesIn(pages).filter((name) => name.startsWith('one.'))).toHaveLength(TOOLS / 2);
    const foreign = (await allPages(client)).at(-2)?.nextCursor;
    expect((await pageOf(stranger, foreign)).tools).toEqual([]);
  });

  it('lists our tools first even if they alone are over the limit', async () => {
    await using gateway = await openFleet({ list_limit: 1 });
    await using client = await connect(gateway.url);
    const first = await pageOf(client);
    expect(first.tools.every(({ name }) => name.startsWith('fabric.'))).toBe(true);
    const { tools } = await pageOf(client, first.nextCursor);
    expect(tools.map(({ name }) => name)).toEqual(['one.tool_0000']);
  });

  it.each(['', 'x', 't2.YQ', `t1.${'a'.repeat(5_000)}`])(
    'refuses a cursor that it did not give out (%#)',
    async (cursor) => {
      await using gateway = await openFleet();
      await using client = await connect(gateway.url);
      await expect(pageOf(client, cursor)).rejects.toMatchObject({ code: -32_602 });
    },
  );
});
