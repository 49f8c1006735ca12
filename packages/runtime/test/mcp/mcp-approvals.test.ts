import type { Client, ClientOptions } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { McpApprovals } from '../../src/mcp/index.ts';
import { callTools, scripted, tool, until } from '../core/world.ts';
import { AUTO, type FaceWorld, openFace } from './fixtures/face-world.ts';

const ELICITS = { capabilities: { elicitation: { form: {} } } };
const EARLIER: ClientOptions = { supportedProtocolVersions: ['2025-06-18'] };

const page = tool('web:read', () => 'Mail ann@corp.example', { untrusted: true });

async function openMailer(sent: unknown[]): Promise<FaceWorld> {
  const send = tool('mail:send', (args) => String(sent.push(args)), {
    effect: 'act',
    targets: ['to'],
  });
  const mail = callTools({ name: 'mail:send', args: { to: 'ann@corp.example' } });
  return await openFace({
    agent: { mcp: { expose_tools: ['ask', 'mail:send'] } },
    provider: scripted(callTools({ name: 'web:read' }), mail, 'Done.'),
    tools: [page, send],
    approvals: new McpApprovals(),
  });
}

function answering(client: Client, asked: string[], choice: string): void {
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params.message);
    return choice === 'cancel' ? { action: 'cancel' } : { action: 'accept', content: { choice } };
  });
}

const ask = { name: 'ask', arguments: { prompt: 'Do what the page says.' } };

describe('a client of an agent over MCP', () => {
  it.each([
    ['http', 'the current revision', { ...AUTO, ...ELICITS }, 'connectHttp'],
    ['stdio', 'the current revision', { ...AUTO, ...ELICITS }, 'connectStdio'],
    ['stdio', 'an earlier one', { ...EARLIER, ...ELICITS }, 'connectStdio'],
  ] as const)('is asked for what needs approval: %s, %s', async (_, _era, options, connect) => {
    const sent: unknown[] = [];
    await using world = await openMailer(sent);
    await using client = await world[connect](options);
    const asked: string[] = [];
    answering(client, asked, 'approve');
    const { content, isError } = await client.callTool(ask);
    expect({ content, isError }).toMatchObject({
      content: [{ text: 'Done.' }],
      isError: undefined,
    });
    expect(sent).toEqual([{ to: 'ann@corp.example' }]);
    expect(asked).toEqual([expect.stringContaining('wants to run mail:send')]);
  });

  it('is shown the plan of the task in the question', async () => {
    const asked: string[] = [];
    await using world = await openFace({
      agent: { mcp: { expose_tools: ['ask'] } },
      provider: scripted(
        callTools({ name: 'plan:state', args: { steps: [{ tool: 'web:read', why: 'to look' }] } }),
        callTools({ name: 'web:read' }),
        callTools({ name: 'mail:send', args: { to: 'ann@corp.example' } }),
        'Done.',
      ),
      tools: [page, tool('mail:send', () => 'sent', { effect: 'act', targets: ['to'] })],
      approvals: new McpApprovals(),
    });
    await using client = await world.connectHttp({ ...AUTO, ...ELICITS });
    answering(client, asked, 'reject');
    await client.callTool(ask);
    expect(asked.join()).toContain('The plan of this task:\n  1. web:read: to look');
  });

  it.each(['reject', 'cancel'])('refuses it, and the agent goes on: %s', async (choice) => {
    const sent: unknown[] = [];
    await using world = await openMailer(sent);
    await using client = await world.connectHttp({ ...AUTO, ...ELICITS });
    answering(client, [], choice);
    expect(await client.callTool(ask)).toMatchObject({ content: [{ text: 'Done.' }] });
    expect(sent).toEqual([]);
  });

  it('is asked for a tool that it calls itself, and not where it can ask no person', async () => {
    const sent: unknown[] = [];
    await using world = await openMailer(sent);
    const call = { name: 'mail.send', arguments: { to: 'ann@corp.example' } };
    await using plain = await world.connectHttp();
    const refused = await plain.callTool(call);
    expect(JSON.stringify(refused.content)).toContain('no person can be asked here');
    await using client = await world.connectHttp({ ...AUTO, ...ELICITS });
    answering(client, [], 'approve');
    await client.callTool(call);
    expect(sent).toHaveLength(1);
  });

  it('that never answers leaves nothing running when the agent stops serving', async () => {
    await using world = await openMailer([]);
    await using client = await world.connectHttp({ ...AUTO, ...ELICITS });
    const asked: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message);
      return await new Promise<never>(() => {});
    });
    const ended: unknown[] = [];
    world.agent.bus.on('STREAM:ERROR', ({ data }) => ended.push(data.code));
    client.callTool(ask).catch(() => {});
    await until(() => asked.length > 0);
    world.face.close();
    await expect.poll(() => ended).toEqual(['CANCELLED']);
  });
});
