import { describe, expect, expectTypeOf, it } from 'vitest';
import { rpcCodeOf } from '../src/index.ts';
import { ClientWorld } from './support/client-world.ts';

const MINUTE_MS = 60_000;
/** So that nobody is lost while much time passes at once. */
const PATIENT = { heartbeatIntervalMs: 60 * MINUTE_MS };

describe('cached results', () => {
  it('keeps the claim for as long as the server allows, for a result that takes its time', async () => {
    await using at = new ClientWorld(PATIENT);
    const [a, b] = [await at.open('a'), await at.open('b')];
    const compute = async () => {
      await at.world.advance(9 * MINUTE_MS);
      return 'slow';
    };
    expect(await a.cached({ tool: 'report', compute })).toBe('slow');
    const never = () => Promise.reject(new Error('is there already'));
    expect(await b.cached({ tool: 'report', compute: never })).toBe('slow');
  });

  it('gives the result even when the claim is gone by then', async () => {
    await using at = new ClientWorld(PATIENT);
    const a = await at.open('a');
    const compute = async () => {
      await at.world.advance(2_000);
      return 'too late';
    };
    expect(await a.cached({ tool: 'report', claim_ttl_ms: 1_000, compute })).toBe('too late');
    expect((await a.cache.get({ tool: 'report' })).hit).toBe(false);
  });

  it('gives a result that is too large to keep, and lets others compute at once', async () => {
    await using at = new ClientWorld({ limits: { value_bytes: 1_000 } });
    const [a, b] = [await at.open('a'), await at.open('b')];
    const large = { tool: 'report', compute: async () => 'x'.repeat(2_000) };
    expect(await a.cached(large)).toHaveLength(2_000);
    expect(await b.cached({ ...large, compute: async () => 'small' })).toBe('small');
  });

  it('rejects when what is asked for makes no sense', async () => {
    await using at = new ClientWorld();
    const a = await at.open('a');
    const call = { tool: 'report', ttl_ms: -1, compute: async () => 1 };
    expect(await a.cached(call).catch(rpcCodeOf)).toBe(-32602);
  });

  it('is of the type that is computed', async () => {
    await using at = new ClientWorld();
    const a = await at.open('a');
    interface Report {
      readonly title: string;
    }
    const compute = async (): Promise<Report> => ({ title: 'On leases' });
    const report = await a.cached({ tool: 'report', compute });
    expectTypeOf(report).toEqualTypeOf<Report>();
    expect(report.title).toBe('On leases');
    const three = await a.cached({ tool: 'three', compute: async () => 3 });
    expectTypeOf(three).toEqualTypeOf<number>();
  });
});
