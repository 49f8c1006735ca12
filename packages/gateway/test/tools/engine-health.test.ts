import { FabricError, systemClock } from '@starloom/core';
import { expect, it } from 'vitest';
import { engineHealth } from '../../src/tools/health.ts';

it('[G6] says that an engine which answers is well', async () => {
  const engine = { kind: 'redis', check: async () => [] };
  expect(await engineHealth(engine, systemClock)).toEqual({
    kind: 'redis',
    status: 'ok',
    latency_ms: expect.any(Number),
  });
});

it('[G6] says why an engine is not, without the words of the engine', async () => {
  const check = async () => {
    throw new FabricError('OVERLOADED', 'redis://user:secret@host', {
      details: { reason: 'engine_unavailable' },
    });
  };
  expect(await engineHealth({ kind: 'redis', check }, systemClock)).toEqual({
    kind: 'redis',
    status: 'offline',
    code: 'OVERLOADED',
    reason: 'engine_unavailable',
  });
});

it('[G6] does not wait for an engine that says nothing', async () => {
  const check = () => new Promise<never>(() => {});
  expect(await engineHealth({ kind: 'redis', check }, systemClock, 5)).toMatchObject({
    status: 'offline',
    code: 'TIMEOUT',
  });
});

it('[G6] says what to see to with an engine that answers, but may forget', async () => {
  const warning = { problem: 'it drops keys', fix: 'let it keep them' };
  const engine = { kind: 'redis', check: async () => [warning] };
  expect(await engineHealth(engine, systemClock)).toMatchObject({
    kind: 'redis',
    status: 'degraded',
    reason: 'it drops keys',
    warnings: [warning],
  });
});

it('[G6] says what to do about an engine that cannot', async () => {
  const details = { reason: 'engine_unavailable', fix: 'name the primary' };
  const check = () => Promise.reject(new FabricError('OVERLOADED', 'a replica', { details }));
  expect(await engineHealth({ kind: 'redis', check }, systemClock)).toMatchObject({
    status: 'offline',
    ...details,
  });
});
