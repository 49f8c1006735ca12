import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { createTrace, FabricError, isErrorCode, toMeta } from '@starloom/core';
import { createMemoryJobEngine } from '@starloom/jobs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { answers, call, connect, openTestGateway } from '../test-gateway.ts';

const read = (path: string) =>
  readFileSync(new URL(`../../../../deploy/observe/${path}`, import.meta.url), 'utf8');

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly {
    readonly datasource: { readonly type: string };
    readonly expr: string;
    readonly legendFormat: string;
  }[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly definition?: string;
  readonly query: unknown;
}

const rules = (parse(read('alerts.yaml')).groups as { rules: Rule[] }[]).flatMap(
  (group) => group.rules,
);
const dashboard = JSON.parse(read('grafana/starloom.json')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
};
const targets = dashboard.panels.flatMap(({ title, targets: all = [] }) =>
  all
    .filter(({ datasource }) => datasource.type === 'prometheus')
    .map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
);
const recorded = new Set(rules.flatMap(({ record }) => record ?? []));

interface Query {
  /** Each metric with the labels that are asked of it. */
  readonly selected: readonly (readonly [metric: string, labels: readonly string[]])[];
  /** Labels that results are grouped by. */
  readonly grouped: readonly string[];
}

/** What a query reads, by the grammar of Prometheus; throws where it is not PromQL. */
function readQuery(text: string): Query {
  const query = text.replaceAll('$__rate_interval', '5m');
  const selected: [string, string[]][] = [];
  const grouped: string[] = [];
  parser.parse(query).iterate({
    enter({ node }) {
      const words = (name: string) =>
        node.getChildren(name).map(({ from, to }) => query.slice(from, to));
      if (node.type.isError) throw new Error(`no PromQL at ${node.from}: ${query}`);
      if (node.name === 'VectorSelector') selected.push([words('Identifier')[0] ?? '', []]);
      if (node.name === 'LabelName') {
        const label = query.slice(node.from, node.to);
        if (node.parent?.name === 'GroupingLabels') grouped.push(label);
        else selected.at(-1)?.[1].push(label);
      }
    },
  });
  return { selected, grouped };
}

/** Labels by metric, of a gateway on which everything has happened once. */
async function scrape(): Promise<Map<string, Set<string>>> {
  const fails = () => {
    throw new FabricError('AGENT_OFFLINE', 'gone');
  };
  await using gateway = await openTestGateway(
    {
      percy: { run: answers('served') },
      broken: { run: fails as never, manifest: { fallbacks: [] } },
    },
    {
      jobs: createMemoryJobEngine(),
      config: { limits: { rate_per_principal: { calls: 6 } } },
    },
  );
  await using client = await connect(gateway.url);
  const args = { capability: 'work', agent_id: 'percy' };
  await call(client, 'fabric.call', { ...args, stream: true });
  await call(client, 'fabric.call', { ...args, async: true });
  await call(client, 'fabric.call', { ...args, agent_id: 'broken' });
  const deep = toMeta(createTrace(), { depth: 6, chain: [] });
  await call(client, 'fabric.call', args, { meta: deep });
  const manyCalls = async () => {
    for (let n = 0; n < 8; n += 1) await call(client, 'fabric.call', args);
  };
  await expect(manyCalls()).rejects.toThrow('RATE_LIMITED');
  await fetch(`${gateway.url}/mcp`, { method: 'POST' });
  const { observer } = gateway;
  observer.certificateSeen('listen', Date.now() + 1e10);
  observer.configReloaded(true);
  observer.streamDropped('slow_reader');
  observer.breakerChanged('broken', 'open');
  const found = new Map<string, Set<string>>();
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
    // Prometheus adds those of where it read them.
    found.set(name, new Set([...(found.get(name) ?? []), ...names, 'job', 'instance']));
  }
  return found;
}

describe('the dashboard and the alerts', () => {
  let metrics: Map<string, Set<string>>;
  beforeAll(async () => {
    metrics = await scrape();
  });

  const labelsOf = (metric: string) => metrics.get(metric) ?? new Set<string>();

  function check(expr: string, shown: readonly string[] = []): void {
    const { selected, grouped } = readQuery(expr);
    expect(selected).not.toEqual([]);
    for (const [metric, labels] of selected) {
      if (recorded.has(metric)) continue;
      expect([...metrics.keys()]).toContain(metric);
      for (const label of [...labels, ...grouped]) {
        expect([...labelsOf(metric)], `${metric} in ${expr}`).toContain(label);
      }
    }
    const isGrouped = grouped.length > 0;
    const known = isGrouped ? grouped : selected.flatMap(([metric]) => [...labelsOf(metric)]);
    for (const label of shown) expect(known, `{{${label}}} of ${expr}`).toContain(label);
  }

  it.each(targets.map((target) => [target.title, target] as const))(
    '[G33] the panel "%s" reads metrics and labels that a gateway has',
    (_, { expr, legendFormat }) => {
      check(
        expr,
        [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label),
      );
    },
  );

  it.each(rules.map((rule) => [rule.alert ?? rule.record, rule] as const))(
    '[G33] the rule %s reads metrics and labels that a gateway has',
    (_, { expr, annotations = {} }) => {
      const words = Object.values(annotations).join(' ');
      check(
        expr,
        [...words.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label),
      );
    },
  );

  it('[G33] the variables of the dashboard exist, and all metrics of a gateway are shown', () => {
    const { list } = dashboard.templating;
    for (const { definition } of list) {
      const [, metric = '', label = ''] =
        /label_values\((\w+), (\w+)\)/.exec(definition ?? '') ?? [];
      if (definition) expect([...labelsOf(metric)]).toContain(label);
    }
    const used = new Set(
      targets.flatMap(({ expr }) => [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name)),
    );
    used.delete('__rate_interval');
    expect(new Set(list.map(({ name }) => name))).toEqual(used);
    const shown = new Set(
      targets.flatMap(({ expr }) => readQuery(expr).selected.map(([metric]) => metric)),
    );
    const whole = (name: string) => name.replace(/_(sum|count)$/, '_bucket');
    expect([...metrics.keys()].filter((name) => !shown.has(whole(name)))).toEqual([]);
  });

  it('the compose file takes its images by version, under one profile, and mounts files that exist', () => {
    const { services, volumes } = parse(read('compose.yaml')) as {
      services: Record<string, { image: string; profiles: string[]; volumes: string[] }>;
      volumes: Record<string, null>;
    };
    expect(Object.keys(services)).toEqual(['collector', 'prometheus', 'tempo', 'loki', 'grafana']);
    for (const { image, profiles, volumes: mounted } of Object.values(services)) {
      expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
      expect(profiles).toEqual(['observe']);
      for (const [from = ''] of mounted.map((mount) => mount.split(':'))) {
        if (from.startsWith('./')) expect(read(from)).not.toBe('');
        else expect(Object.keys(volumes)).toContain(from);
      }
    }
  });

  it('the codes that count as the fault of a caller are codes', () => {
    const codes = [
      ...rules.map(({ expr }) => expr),
      ...dashboard.templating.list.map(({ query }) => JSON.stringify(query)),
    ].flatMap((text) => text.match(/[A-Z]+_[A-Z_]+/g) ?? []);
    expect(codes.length).toBeGreaterThan(7);
    expect(codes.filter((code) => !isErrorCode(code))).toEqual([]);
  });

  it('a query with a metric or label that no gateway has is found, and one that is no PromQL', () => {
    expect(readQuery('sum by (state) (starloom_jobs{kind="x"}) / other{a=~"b"}')).toEqual({
      selected: [
        ['starloom_jobs', ['kind']],
        ['other', ['a']],
      ],
      grouped: ['state'],
    });
    const wrong = [
      'starloom_job',
      'starloom_jobs{kind="x"}',
      'sum by (kind) (starloom_jobs)',
      'sum(',
    ];
    for (const expr of wrong) expect(() => check(expr), expr).toThrow();
    expect(() => check('sum by (state) (starloom_jobs)', ['kind'])).toThrow();
  });
});
