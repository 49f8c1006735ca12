import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gatewayConfigSchema, loadGatewayConfig } from '../src/config.ts';

const KEY = 'kX7mQ2vN9pR4tW8yB3cF';

/** As CONTRACTS writes it. */
const FULL = `
listen: {host: 127.0.0.1, port: 7420}
registry: {kind: yaml, path: ./agents.yaml}
auth:
  anonymous: false
  psk: [{key_id: ci, key: env:CI_KEY, principal: ci, tier: org, scopes: ["*"]}]
mcp: {tool_names: auto, toolsets: [fabric, agents], expose: all, unprefixed: []}
limits: {body_bytes: 4194304, result_bytes: 16777216, depth: 5, calls_per_principal: 1024, calls_per_agent: 1024}
coordination: {kind: embedded, heartbeat_interval_ms: 30000}
jobs: {kind: sqlite}
telemetry: {otlp: null, log_level: info}
`;

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'starloom-gateway-config-'));
});
afterEach(() => rm(cwd, { recursive: true }));

function write(name: string, text: string): Promise<void> {
  return writeFile(join(cwd, name), text);
}

describe('the configuration of the gateway', () => {
  it('has the documented defaults: the documented file without its key changes nothing', async () => {
    const defaults = await loadGatewayConfig({ cwd, env: {} });
    await write('starloom.yaml', FULL);
    const full = await loadGatewayConfig({ cwd, env: { CI_KEY: KEY } });
    expect({ ...full.value, auth: { ...full.value.auth, psk: [] } }).toEqual(defaults.value);
    expect(full.value.auth.psk[0]?.key.reveal()).toBe(KEY);
    expect(full.value.auth.psk).toMatchObject([
      { key_id: 'ci', principal: 'ci', tier: 'org', scopes: ['*'] },
    ]);
  });

  it('says of every value that it is a default when there is no file', async () => {
    const { origins, file } = await loadGatewayConfig({ cwd, env: {} });
    expect(file).toBeUndefined();
    expect(origins.size).toBeGreaterThan(10);
    expect(new Set([...origins.values()].map(({ kind }) => kind))).toEqual(new Set(['default']));
  });

  it('takes flags over variables over the file over defaults', async () => {
    await write('starloom.yaml', 'listen: {host: 127.0.0.2, port: 1}\nlimits: {depth: 7}');
    const env = { STARLOOM_LISTEN__HOST: '127.0.0.3', STARLOOM_LISTEN__PORT: '2' };
    const { value, origins } = await loadGatewayConfig({ cwd, env, flags: { port: 3 } });
    expect(value.listen).toMatchObject({ host: '127.0.0.3', port: 3 });
    expect(value.limits.depth).toBe(7);
    expect(origins.get('listen.port')).toEqual({ kind: 'flag', name: '--port' });
    expect(origins.get('listen.host')).toEqual({ kind: 'env', name: 'STARLOOM_LISTEN__HOST' });
    expect(origins.get('limits.depth')).toMatchObject({ kind: 'file', line: 2 });
    expect(origins.get('limits.body_bytes')).toEqual({ kind: 'default' });
  });

  it('is searched as --config, then $STARLOOM_CONFIG, then ./starloom.yaml', async () => {
    await write('starloom.yaml', 'listen: {port: 1}');
    await write('two.yaml', 'listen: {port: 2}');
    await write('three.json', '{"listen": {"port": 3}}');
    const env = { STARLOOM_CONFIG: 'two.yaml' };
    const ports = [
      await loadGatewayConfig({ cwd, env: {} }),
      await loadGatewayConfig({ cwd, env }),
      await loadGatewayConfig({ cwd, env, path: 'three.json' }),
      await loadGatewayConfig({ cwd, env: { STARLOOM_CONFIG: '' } }),
    ].map(({ value }) => value.listen.port);
    expect(ports).toEqual([1, 2, 3, 1]);
  });

  it('is an error when the named file is missing', async () => {
    for (const options of [
      { path: 'nope.yaml', env: {} },
      { env: { STARLOOM_CONFIG: 'nope.yaml' } },
    ]) {
      await expect(loadGatewayConfig({ cwd, ...options })).rejects.toMatchObject({
        code: 'BAD_INPUT',
        message: 'nope.yaml no such file; create it or pass --config',
      });
    }
  });

  it('warns of a file that looks like ours but is not read', async () => {
    await write('starloom.yml', 'listen: {port: 1}');
    const { value, warnings } = await loadGatewayConfig({ cwd, env: {} });
    expect(value.listen.port).toBe(7420);
    expect(warnings).toMatchObject([
      { file: 'starloom.yml', fix: expect.stringMatching(/rename/) },
    ]);
  });

  it.each(['localhost', '127.0.0.1', '127.1.2.3', '::1'])(
    'allows anonymous callers on %s',
    async (host) => {
      await write('starloom.yaml', 'auth: {anonymous: true}');
      const { value } = await loadGatewayConfig({ cwd, env: {}, flags: { host } });
      expect(value.auth.anonymous).toBe(true);
    },
  );

  it.each(['0.0.0.0', '::', '10.0.0.1', 'example.org', '127.0.0.1.example.org', '1270.0.0.1'])(
    'refuses anonymous callers on %s, whoever named the host',
    async (host) => {
      await write('starloom.yaml', 'auth: {anonymous: true}');
      const env = { STARLOOM_LISTEN__HOST: host };
      for (const options of [{ env: {}, flags: { host } }, { env }]) {
        await expect(loadGatewayConfig({ cwd, ...options })).rejects.toMatchObject({
          details: { problems: [{ key: 'auth.anonymous', file: 'starloom.yaml' }] },
        });
      }
    },
  );

  it('takes engines by kind, and a registry from another package', async () => {
    await write(
      'starloom.yaml',
      `registry: {kind: package, package: '@acme/registry', options: {region: eu, depth: {a: 1}}}
coordination: {kind: redis, url: redis://localhost}
jobs: {kind: postgres, url: env:JOBS}
telemetry: {otlp: http://localhost:4318}`,
    );
    const { value } = await loadGatewayConfig({ cwd, env: { JOBS: 'postgres://u:p@h/db' } });
    expect(value.registry).toEqual({
      kind: 'package',
      package: '@acme/registry',
      options: { region: 'eu', depth: { a: 1 } },
    });
    expect(value.coordination).toMatchObject({
      url: 'redis://localhost',
      heartbeat_interval_ms: 30_000,
    });
    expect(JSON.stringify(value.jobs)).toContain('{"kind":"postgres","url":"[secret env:JOBS]"');
  });

  it('describes every key', () => {
    expect(undescribed(gatewayConfigSchema)).toEqual([]);
  });
});

/** Keys of a map, at any depth, that say nothing about themselves. */
function undescribed(schema: unknown, path = ''): string[] {
  const { def } = (schema as { _zod: { def: Record<string, unknown> } })._zod;
  if (def.type === 'object') {
    return Object.entries(def.shape as Record<string, { description?: string }>).flatMap(
      ([key, child]) => [
        ...(child.description === undefined ? [`${path}${key}`] : []),
        ...undescribed(child, `${path}${key}.`),
      ],
    );
  }
  const inner = [def.innerType, def.element, ...((def.options as unknown[] | undefined) ?? [])];
  return inner.filter(Boolean).flatMap((child) => undescribed(child, path));
}
