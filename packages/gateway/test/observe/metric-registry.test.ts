import { describe, expect, it } from 'vitest';
import { MetricRegistry } from '../../src/observe/metric-registry.ts';

describe('metric registry', () => {
  it('writes counters and gauges in the Prometheus text format', () => {
    const registry = new MetricRegistry();
    registry
      .counter('calls_total', 'Calls', ['agent', 'ok'])
      .with({ agent: 'a', ok: 'true' })
      .add(2);
    registry.gauge('depth', 'Depth').with({}).set(1.5);
    expect(registry.text()).toBe(
      [
        '# HELP calls_total Calls',
        '# TYPE calls_total counter',
        'calls_total{agent="a",ok="true"} 2',
        '# HELP depth Depth',
        '# TYPE depth gauge',
        'depth 1.5',
        '',
      ].join('\n'),
    );
  });

  it('counts a value in every bucket that holds it, its bound included', () => {
    const registry = new MetricRegistry();
    const histogram = registry.histogram('took', 'Took', [0.1, 1], ['agent']).with({ agent: 'a' });
    for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value);
    expect(registry.text().split('\n').slice(2)).toEqual([
      'took_bucket{agent="a",le="0.1"} 2',
      'took_bucket{agent="a",le="1"} 3',
      'took_bucket{agent="a",le="+Inf"} 4',
      'took_sum{agent="a"} 7.65',
      'took_count{agent="a"} 4',
      '',
    ]);
  });

  it('escapes the values of labels and keeps those apart that look alike', () => {
    const registry = new MetricRegistry();
    const family = registry.counter('odd_total', 'Odd', ['a', 'b']);
    family.with({ a: 'x",b="y', b: 'z' }).add();
    family.with({ a: 'x', b: 'y' }).add(2);
    family.with({ a: 'back\\slash', b: 'new\nline' }).add(3);
    expect(registry.text().split('\n').slice(2)).toEqual([
      'odd_total{a="x\\",b=\\"y",b="z"} 1',
      'odd_total{a="x",b="y"} 2',
      'odd_total{a="back\\\\slash",b="new\\nline"} 3',
      '',
    ]);
  });

  it('gives the same series for the same labels, and a new one after it was forgotten', () => {
    const registry = new MetricRegistry();
    const family = registry.counter('seen_total', 'Seen', ['agent', 'kind']);
    family.with({ agent: 'a', kind: 'x' }).add();
    family.with({ agent: 'a', kind: 'x' }).add();
    family.with({ agent: 'a', kind: 'y' }).add();
    family.with({ agent: 'b', kind: 'a' }).add();
    family.forget('agent', 'a');
    expect(registry.text()).not.toContain('agent="a"');
    expect(registry.text()).toContain('seen_total{agent="b",kind="a"} 1');
    expect(family.with({ agent: 'a', kind: 'x' }).value).toBe(0);
  });

  it('holds a bounded number of series; what comes after them is counted together', () => {
    const registry = new MetricRegistry();
    const family = registry.counter('many_total', 'Many', ['id']);
    for (let id = 0; id < 5000; id += 1) family.with({ id: `${id}` }).add();
    const lines = registry.text().split('\n');
    expect(lines).toContain('many_total{id="other"} 3000');
    expect(lines.length).toBeLessThan(2010);
  });

  it('asks collectors for what is only known when somebody looks', () => {
    const registry = new MetricRegistry();
    const gauge = registry.gauge('looks', 'Looks').with({});
    registry.onCollect(() => gauge.set(gauge.value + 1));
    registry.text();
    expect(registry.text()).toContain('looks 2');
  });
});
