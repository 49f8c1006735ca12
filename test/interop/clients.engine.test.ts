import { describeWithPeer } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { answers, itGoesOnWithInputs, itIsAsked } from './asking-scenarios.ts';
import { awaitTools, PATIENCE } from './await-tools.ts';
import { type ClientWorld, openClientWorld, type Transport } from './client-world.ts';
import type { Answers } from './clients/line-protocol.ts';
import { CLIENTS } from './clients.ts';
import { type Driver, openDriver, type Progress } from './driver.ts';
import { callsReceivedBy, receivedBy } from './recorded.ts';

const TRANSPORTS: readonly Transport[] = ['http', 'stdio'];

/** One gateway for all clients over HTTP, as it is used; over stdio each client starts its own. */
const shared = new AsyncDisposableStack();
let overHttp: ClientWorld | undefined;

afterAll(() => shared.disposeAsync());

async function openWorld(transport: Transport, own: AsyncDisposableStack): Promise<ClientWorld> {
  if (transport === 'stdio') return own.use(await openClientWorld(transport));
  overHttp ??= shared.use(await openClientWorld(transport));
  return overHttp;
}

for (const client of CLIENTS) {
  describeWithPeer(client.name, client.prepare, (path) => {
    describe.each(TRANSPORTS)('over %s', (transport) => {
      const stack = new AsyncDisposableStack();
      let world: ClientWorld;
      let driver: Driver;

      const connect = (name: string, declared: { answers?: Answers } = {}) => {
        const mode = client.mode ?? 'auto';
        return openDriver(client.program(path), { ...world.target, name, mode, ...declared });
      };

      beforeAll(async () => {
        world = await openWorld(transport, stack);
        driver = stack.use(await connect('interop', { answers: answers() }));
      });

      afterAll(() => stack.disposeAsync());

      it('[G22] speaks the newest revision that the client knows', () => {
        expect(driver.protocolVersion).toBe(client.revision);
      });

      it('[G22] calls a tool, also while the gateway discovers it', async () => {
        const answer = await driver.call('everything.echo', { message: 'häuser 房子' });
        expect(answer.content).toEqual([{ type: 'text', text: 'Echo: häuser 房子' }]);
        expect(answer.isError ?? false).toBe(false);
      });

      it('[G22] lists the tools of agents first, with what the agents say about them', async () => {
        const tools = await awaitTools(driver, 'everything.get-sum', 'files.write_file');
        const names = tools.map(({ name }) => name);
        const firstOfOurs = names.findIndex((name) => name.startsWith('fabric.'));
        expect(firstOfOurs).toBeGreaterThan(0);
        expect(names.slice(firstOfOurs).filter((name) => !name.startsWith('fabric.'))).toEqual([]);
        expect(tools.find(({ name }) => name === 'everything.get-sum')).toMatchObject({
          title: 'Get Sum Tool',
          inputSchema: { type: 'object', required: ['a', 'b'] },
          annotations: { readOnlyHint: true },
        });
        expect(tools.find(({ name }) => name === 'files.write_file')).toMatchObject({
          inputSchema: { required: ['path', 'content'] },
          annotations: { readOnlyHint: false, destructiveHint: true },
        });
      });

      it('[G22] receives progress while the tool runs', async () => {
        const seen: Progress[] = [];
        const { outcome } = driver.startCall(
          'everything.trigger-long-running-operation',
          { duration: 0.4, steps: 4 },
          (progress) => seen.push(progress),
        );
        expect(await outcome).toMatchObject({
          kind: 'result',
          result: { content: [{ text: expect.stringContaining('completed') }] },
        });
        const steps = seen.map(({ progress }) => progress);
        expect(steps.length).toBeGreaterThanOrEqual(4);
        expect(steps).toEqual([...new Set(steps)].sort((one, other) => one - other));
      });

      it("[G22] receives a tool's error as the agent wrote it", async () => {
        const answer = await driver.call('files.read_text_file', { path: '/etc/hostname' });
        expect(answer.isError).toBe(true);
        expect(answer.content).toEqual([
          { type: 'text', text: expect.stringMatching(/^Access denied - path outside/) },
        ]);
        expect(answer._meta?.['io.starloom/error']).toMatchObject({
          error: { code: 'UPSTREAM_ERROR', details: { reason: 'tool_error' } },
        });
      });

      it('[G22] learns which argument is wrong, and the agent is not asked', async () => {
        const before = await callsReceivedBy(world.record);
        const answer = await driver.call('everything.get-sum', { a: 'two', b: 3 });
        expect(answer.isError).toBe(true);
        expect(answer._meta?.['io.starloom/error']).toMatchObject({
          error: { code: 'BAD_INPUT', details: { problems: [expect.stringMatching(/^a /)] } },
        });
        expect(await callsReceivedBy(world.record)).toEqual(before);
      });

      it('[G22] receives a protocol error for a tool that no agent has', async () => {
        const { outcome } = driver.startCall('everything.no-such-tool');
        expect(await outcome).toMatchObject({ kind: 'error' });
      });

      it('[G22] cancels at the agent', async () => {
        const started = Promise.withResolvers<void>();
        const { outcome, cancel } = driver.startCall(
          'everything.trigger-long-running-operation',
          { duration: 60, steps: 120 },
          () => started.resolve(),
        );
        await started.promise;
        cancel();
        expect(await outcome).toEqual({ kind: 'cancelled' });
        await vi.waitFor(async () => {
          const running = (await callsReceivedBy(world.record)).at(-1);
          expect(running?.params?.arguments).toEqual({ duration: 60, steps: 120 });
          const received = await receivedBy(world.record);
          const cancelled = received.filter(({ method }) => method === 'notifications/cancelled');
          expect(cancelled.map(({ params }) => params?.requestId)).toContain(running?.id);
        }, PATIENCE);
      });

      it('[G22] reads a resource that a tool linked to, and one that a tool embedded', async () => {
        const { content } = await driver.call('everything.get-resource-links', { count: 2 });
        const links = content.flatMap(({ type, uri }) => (type === 'resource_link' ? [uri] : []));
        expect(links).toHaveLength(2);
        for (const uri of links) expect(await driver.read(String(uri))).toMatchObject([{ uri }]);
        const embedded = await driver.call('everything.get-resource-reference', {
          resourceType: 'Text',
          resourceId: 3,
        });
        const { resource } = embedded.content.find(({ type }) => type === 'resource') ?? {};
        const { uri } = resource as { uri: string };
        expect(await driver.read(uri)).toMatchObject([
          { uri, text: expect.stringContaining('Resource 3') },
        ]);
      });

      it('[G22] sees agents that are added and removed while it is connected', async () => {
        const changesBefore = driver.toolsChanged;
        await world.setExtra(true);
        await awaitTools(driver, 'extra.read_graph');
        if (client.hearsChangesOver.includes(transport))
          await vi.waitFor(() => {
            expect(driver.toolsChanged).toBeGreaterThan(changesBefore);
          }, PATIENCE);
        const graph = await driver.call('extra.read_graph');
        expect(graph.structuredContent).toMatchObject({ entities: [], relations: [] });
        await world.setExtra(false);
        await vi.waitFor(async () => {
          const names = (await driver.list()).map(({ name }) => name);
          expect(names).not.toContain('extra.read_graph');
        }, PATIENCE);
      });

      describe('that declares elicitation and sampling', () => itIsAsked(() => driver));

      describe('that rejects dots in names and declares nothing', () => {
        let picky: Driver;

        beforeAll(async () => {
          picky = stack.use(await connect('claude-code'));
        });

        it('[G22] is shown names without dots, and may use all', async () => {
          const tools = await awaitTools(picky, 'everything_get-sum');
          expect(tools.filter(({ name }) => !/^[A-Za-z0-9_-]{1,64}$/.test(name))).toEqual([]);
          for (const spelling of ['everything_get-sum', 'everything.get-sum']) {
            const { content } = await picky.call(spelling, { a: 2, b: 3 });
            expect(content).toMatchObject([{ text: 'The sum of 2 and 3 is 5.' }]);
          }
        });

        itGoesOnWithInputs(() => picky);
      });
    });
  });
}
