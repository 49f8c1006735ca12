import type { ManifestInput } from '@starloom/core';
import { ContractAgent } from '@starloom/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { ContractExecutor } from '../../packages/adapters/test/fixtures/a2a-executor.ts';
import { serveA2a } from '../../packages/adapters/test/fixtures/a2a-server.ts';
import { connect } from '../support/connect.ts';
import { type RunningGateway, startGatewayIn, writeWorld } from '../support/start-gateway.ts';

async function openWorld() {
  const executor = new ContractExecutor(new ContractAgent());
  const server = await serveA2a(executor);
  onTestFinished(() => server.close());
  const agent: ManifestInput = {
    agent_id: 'subject',
    endpoint: { transport: 'http', protocol: 'a2a', uri: server.base },
    trust_tier: 'org',
  };
  const config = { telemetry: { log_level: 'warn' } };
  return { executor, folder: await writeWorld({ agents: [agent], config }) };
}

async function call(gateway: RunningGateway, name: string, args: Record<string, unknown>) {
  await using client = await connect(gateway);
  const { structuredContent } = await client.callTool({ name, arguments: args });
  // biome-ignore lint/suspicious/noExplicitAny: the payload is read, not computed with
  return structuredContent as any;
}

const startJob = async (gateway: RunningGateway, task: string): Promise<string> => {
  const asked = { agent_id: 'subject', capability: 'work', task, async: true };
  return (await call(gateway, 'fabric.call', asked)).job_id;
};
const jobOf = async (gateway: RunningGateway, job_id: string) =>
  (await call(gateway, 'fabric.job.status', { job_id })).job;
const eventsOf = async (gateway: RunningGateway, job_id: string) =>
  (await call(gateway, 'fabric.job.stream', { job_id })).events as { type: string }[];

it('a job on an A2A agent outlives kill -9 of the gateway, and its message is sent once', async () => {
  const { executor, folder } = await openWorld();
  const first = await startGatewayIn(folder);
  const job_id = await startJob(first, 'slow');
  const types = async () => (await eventsOf(first, job_id)).map(({ type }) => type);
  await expect.poll(types).toContain('token');
  process.kill(first.pid, 'SIGKILL');
  await using second = await startGatewayIn(folder);
  await call(second, 'fabric.call', { agent_id: 'subject', capability: 'work', task: 'release' });
  await expect
    .poll(async () => (await jobOf(second, job_id)).state, { timeout: 50_000 })
    .toBe('succeeded');
  expect(await jobOf(second, job_id)).toMatchObject({
    attempt: 1,
    result: { agent_id: 'subject', result: { answer: 'started 1' } },
  });
  const tasks = executor.received.map(({ parts }) => parts[0]?.content?.value);
  expect(tasks).toEqual(['slow', 'release']);
});

it('a question of an A2A agent outlives kill -9 of the gateway, and its answer goes to the task', async () => {
  const { executor, folder } = await openWorld();
  const first = await startGatewayIn(folder);
  const job_id = await startJob(first, 'ask name');
  await expect.poll(async () => (await jobOf(first, job_id)).state).toBe('awaiting_input');
  process.kill(first.pid, 'SIGKILL');
  await using second = await startGatewayIn(folder);
  const response = { action: 'accept', content: { name: 'Ada' } };
  await call(second, 'fabric.job.input', { job_id, inputs: [{ id: 'name', response }] });
  await expect.poll(async () => (await jobOf(second, job_id)).state).toBe('succeeded');
  expect((await jobOf(second, job_id)).result.result.answer).toBe('Ada');
  const [asked, answered] = executor.received;
  expect(executor.received).toHaveLength(2);
  expect(answered?.taskId).toBe(asked?.taskId);
});

it('a job that waits for an answer cancels the task of its A2A agent', async () => {
  const { executor, folder } = await openWorld();
  await using gateway = await startGatewayIn(folder);
  const job_id = await startJob(gateway, 'ask name');
  await expect.poll(async () => (await jobOf(gateway, job_id)).state).toBe('awaiting_input');
  await call(gateway, 'fabric.job.cancel', { job_id });
  await expect.poll(async () => (await jobOf(gateway, job_id)).state).toBe('cancelled');
  expect(executor.cancelled).toEqual([executor.received[0]?.taskId]);
});
