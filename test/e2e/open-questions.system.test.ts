import { describe, expect, it, onTestFinished } from 'vitest';
import { createLauncher } from '../../packages/adapters/test/fixtures/stdio-launcher.ts';
import { openGateway } from './gateway.ts';

/** An older server: `ask` asks for a name and answers with it, everything else is answered at once. */
const AGENT = `
import { createInterface } from 'node:readline';
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const text = (id, text) => write({ id, result: { content: [{ type: 'text', text }] } });
const inputSchema = { type: 'object', properties: { task: { type: 'string' } } };
const ANSWERS = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } },
  'tools/list': { tools: [{ name: 'ask', inputSchema }, { name: 'echo', inputSchema }] },
  ping: {},
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) text(Number(id.slice(2)), result.content?.name ?? result.action);
  else if (method !== 'tools/call') {
    if (ANSWERS[method]) write({ id, result: ANSWERS[method] });
    else if (id !== undefined) write({ id, error: { code: -32601, message: 'Method not found' } });
  } else if (params.name === 'echo') text(id, 'echo');
  else write({ id: 'q-' + id, method: 'elicitation/create', params: {
    message: 'Your name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } } });
});
`;

async function openAsking() {
  const launcher = await createLauncher(AGENT);
  onTestFinished(() => launcher.close());
  const gateway = await openGateway([{ agent_id: 'older', endpoint: launcher.endpoint }]);
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const call = (capability: string, more: Record<string, unknown> = {}) =>
    gateway.call({ agent_id: 'older', capability, ...more });
  const ask = async () => {
    const { error } = await call('ask');
    expect(error).toMatchObject({ code: 'INPUT_REQUIRED' });
    return error.details as { conversation_id: string; inputs: { id: string }[] };
  };
  const answer = ({ conversation_id, inputs: [question] }: Awaited<ReturnType<typeof ask>>) => {
    const response = { action: 'accept', content: { name: 'Ada' } };
    return call('ask', { conversation_id, inputs: [{ id: question?.id, response }] });
  };
  return { launcher, call, ask, answer };
}

describe('a question of an older agent in a child process, while it is open', () => {
  it('leaves other calls alone: they are answered, and asked themselves', async () => {
    const { call, ask, answer } = await openAsking();
    const first = await ask();
    expect(await call('echo')).toMatchObject({ result: { answer: 'echo' } });
    const second = await ask();
    for (const question of [second, first]) {
      expect(await answer(question)).toMatchObject({ ok: true, result: { answer: 'Ada' } });
    }
  });

  it('does not take the agent from others, however many are left open', async () => {
    const { call, ask, answer } = await openAsking();
    const left = [];
    for (let n = 0; n < 18; n += 1) left.push(await ask());
    expect(await call('echo')).toMatchObject({ result: { answer: 'echo' } });
    const answers = await Promise.all(left.map(answer));
    expect(answers.at(-1)).toMatchObject({ ok: true, result: { answer: 'Ada' } });
    const refused = answers.filter(({ ok }) => !ok);
    expect(refused).toHaveLength(2);
    for (const { error } of refused) expect(error.details.reason).toBe('no_open_question');
  });

  it('is answered in vain once the agent died: the answer is an error at once', async () => {
    const { launcher, call, ask, answer } = await openAsking();
    const question = await ask();
    await launcher.kill();
    expect((await answer(question)).error.code).toBe('AGENT_OFFLINE');
    expect((await answer(question)).error.details.reason).toBe('no_open_question');
    expect(await call('echo')).toMatchObject({ result: { answer: 'echo' } });
  });
});
