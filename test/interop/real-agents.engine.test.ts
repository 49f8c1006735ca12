import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import type { ManifestInput } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callWithEvents, connect } from '../support/connect.ts';
import { descendantsOf, running } from '../support/descendants.ts';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';
import { expectListedAs, listDirectly } from './listed-directly.ts';
import {
  everythingAgent,
  everythingHttpAgent,
  filesystemAgent,
  memoryAgent,
  startEverythingHttp,
} from './real-agents.ts';

const EVERYTHINGS = ['everything', 'everything-http'];
const promptArguments = { resourceType: 'Text', resourceId: '3' };

describe("other people's MCP servers behind the gateway", () => {
  const stack = new AsyncDisposableStack();
  let folder: string;
  /** Those on standard input and output. */
  let agents: readonly ManifestInput[];
  let gateway: RunningGateway;
  let client: Client;

  beforeAll(async () => {
    folder = stack.use(await temporaryFolder()).path;
    const { uri } = stack.use(await startEverythingHttp());
    agents = [
      everythingAgent('everything'),
      filesystemAgent('files', folder),
      memoryAgent('memory', join(folder, 'memory.jsonl')),
    ];
    gateway = stack.use(
      await startGateway({
        config: { telemetry: { log_level: 'warn' } },
        agents: [...agents, everythingHttpAgent('everything-http', uri)],
      }),
    );
    client = stack.use(await connect(gateway));
  });

  afterAll(() => stack.disposeAsync());

  it('[G22] lists their tools with all that they say about them', async () => {
    for (const agent of agents) {
      const direct = await listDirectly(agent);
      expect(direct.size).toBeGreaterThan(0);
      await expectListedAs(client, agent, direct);
    }
    const overHttp = await listDirectly(everythingAgent('everything'));
    await expectListedAs(client, everythingHttpAgent('everything-http', ''), overHttp);
  });

  it.each(EVERYTHINGS)('[G22] answers with what %s answers', async (agent) => {
    const echoed = await client.callTool({
      name: `${agent}.echo`,
      arguments: { message: 'häuser 房子' },
    });
    expect(echoed.content).toEqual([{ type: 'text', text: 'Echo: häuser 房子' }]);
    const sum = await client.callTool({ name: `${agent}.get-sum`, arguments: { a: 2, b: 3 } });
    expect(sum.content).toEqual([{ type: 'text', text: 'The sum of 2 and 3 is 5.' }]);
    const weather = await client.callTool({
      name: `${agent}.get-structured-content`,
      arguments: { location: 'Chicago' },
    });
    expect(weather.structuredContent).toMatchObject({ temperature: expect.any(Number) });
    const picture = await client.callTool({ name: `${agent}.get-tiny-image`, arguments: {} });
    expect(picture.content).toContainEqual(
      expect.objectContaining({ type: 'image', mimeType: 'image/png' }),
    );
  });

  it.each(EVERYTHINGS)('[G22] shows the progress of %s as events', async (agent) => {
    const { result, events } = await callWithEvents(
      client,
      `${agent}.trigger-long-running-operation`,
      { duration: 0.4, steps: 4 },
    );
    const percents = events.flatMap(({ type, data }) => (type === 'progress' ? data.percent : []));
    expect(percents).toEqual([25, 50, 75, 100]);
    expect(result.content).toMatchObject([{ text: expect.stringContaining('completed') }]);
    const counted: unknown[] = [];
    await client.callTool(
      { name: `${agent}.trigger-long-running-operation`, arguments: { duration: 0.1, steps: 2 } },
      {
        onprogress: ({ progress, total }) => total !== undefined && counted.push([progress, total]),
      },
    );
    expect(counted).toEqual([
      [1, 2],
      [2, 2],
    ]);
  });

  it('[G22] calls a tool that answers with a task alone, and shows how the server is used', async () => {
    const { content } = await client.callTool({
      name: 'everything.simulate-research-query',
      arguments: { topic: 'tea' },
    });
    expect(content).toMatchObject([{ text: expect.stringContaining('Research Report: tea') }]);
    const { structuredContent } = await client.callTool({
      name: 'fabric.agent.describe',
      arguments: { agent_id: 'everything' },
    });
    expect(structuredContent).toMatchObject({
      agent: {
        version: expect.stringMatching(/^[1-9]/),
        instructions: expect.stringContaining('Everything Server'),
      },
    });
  });

  it('[G22] reads a resource by the URI of its server where one server has it', async () => {
    const uri = 'demo://resource/dynamic/text/7';
    await expect(client.readResource({ uri })).rejects.toMatchObject({
      data: { error: { details: { reason: 'ambiguous_uri' } } },
    });
    const prompt = { name: 'everything.resource-prompt', arguments: promptArguments };
    const { messages } = await client.getPrompt(prompt);
    const [link] = messages.flatMap((message) =>
      message.content.type === 'resource' ? message.content.resource.uri : [],
    );
    expect(link).toMatch(/^starloom:everything:demo:/);
    const { contents } = await client.readResource({ uri: link ?? '' });
    expect(contents).toMatchObject([{ uri: link }]);
  });

  it.each(EVERYTHINGS)(
    '[G22] refuses in words of the schema what %s cannot take',
    async (agent) => {
      const result = await client.callTool({ name: `${agent}.get-sum`, arguments: { a: 'two' } });
      expect(result.isError).toBe(true);
      expect(result._meta).toMatchObject({ 'io.starloom/error': { error: { code: 'BAD_INPUT' } } });
    },
  );

  it('[G22] writes and reads files, and not beyond the folder', async () => {
    const path = join(folder, 'note.txt');
    await client.callTool({ name: 'files.write_file', arguments: { path, content: 'a note' } });
    const read = await client.callTool({ name: 'files.read_text_file', arguments: { path } });
    expect(read.content).toMatchObject([{ type: 'text', text: 'a note' }]);
    const outside = await client.callTool({
      name: 'files.read_text_file',
      arguments: { path: '/etc/hostname' },
    });
    expect(outside.isError).toBe(true);
  });

  it('[G22] keeps what one client told an agent for the next one', async () => {
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }];
    await client.callTool({ name: 'memory.create_entities', arguments: { entities } });
    await using other = await connect(gateway, 'legacy');
    const graph = await other.callTool({ name: 'memory.read_graph', arguments: {} });
    expect(graph.structuredContent).toMatchObject({ entities: [{ name: 'Ada' }] });
  });

  it('[G22] is the same agent by fabric.call', async () => {
    const { structuredContent } = await client.callTool({
      name: 'fabric.call',
      arguments: { agent_id: 'everything', capability: 'get-sum', arguments: { a: 4, b: 5 } },
    });
    expect(structuredContent).toMatchObject({
      ok: true,
      agent_id: 'everything',
      result: { answer: 'The sum of 4 and 5 is 9.' },
    });
  });

  it.each(EVERYTHINGS)('[G22] relays the resources of %s', async (agent) => {
    const { resources } = await client.listResources();
    const ours = resources.filter(({ uri }) => uri.startsWith(`starloom:${agent}:demo://`));
    expect(ours.length).toBeGreaterThan(0);
    const uri = ours[0]?.uri ?? '';
    const { contents } = await client.readResource({ uri });
    expect(contents).toMatchObject([{ uri, text: expect.any(String) }]);
    const { resourceTemplates } = await client.listResourceTemplates();
    const template = `starloom:${agent}:demo://resource/dynamic/text/{resourceId}`;
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(template);
    const filled = template.replace('{resourceId}', '7');
    expect((await client.readResource({ uri: filled })).contents).toMatchObject([{ uri: filled }]);
  });

  it.each(EVERYTHINGS)('[G22] relays the prompts of %s and completes them', async (agent) => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain(`${agent}.args-prompt`);
    const { messages } = await client.getPrompt({
      name: `${agent}.args-prompt`,
      arguments: { city: 'Bern' },
    });
    expect(messages).toMatchObject([{ content: { text: "What's weather in Bern?" } }]);
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: `${agent}.completable-prompt` },
      argument: { name: 'department', value: 'Eng' },
    });
    expect(completion.values).toEqual(['Engineering']);
  });
});

describe('a gateway with child processes', () => {
  it('[G22] leaves none of them behind when it stops', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'a.txt'), 'a');
    await using gateway = await startGateway({
      config: { telemetry: { log_level: 'warn' } },
      agents: [
        everythingAgent('everything'),
        filesystemAgent('files', folder.path),
        memoryAgent('memory', join(folder.path, 'memory.jsonl')),
      ],
    });
    await using client = await connect(gateway);
    await client.callTool({ name: 'everything.echo', arguments: { message: 'hello' } });
    await client.callTool({ name: 'files.list_directory', arguments: { path: folder.path } });
    await client.callTool({ name: 'memory.read_graph', arguments: {} });
    const children = descendantsOf(gateway.pid);
    expect(children.length).toBeGreaterThanOrEqual(3);
    expect(await gateway.stop()).toBe(0);
    await vi.waitFor(() => expect(running(children)).toEqual([]), { timeout: 10_000 });
  });
});
