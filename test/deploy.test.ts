import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadGatewayConfig } from '@starloom/gateway/config';
import { readAgentsFile } from '@starloom/registry';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const DEPLOY = fileURLToPath(new URL('../deploy/', import.meta.url));
const CLI = readFileSync(new URL('../docs/cli.md', import.meta.url), 'utf8');
const compose = parse(read('compose.yaml'), { merge: true });
const services: Readonly<Record<string, Service>> = compose.services;

interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly ports?: readonly string[];
}

describe('deploy/compose.yaml', () => {
  it('runs two gateways with one configuration, a balancer, a node, Postgres and Redis', () => {
    const names = ['balancer', 'gateway-1', 'gateway-2', 'node-1', 'postgres', 'redis'];
    expect(Object.keys(services).toSorted()).toEqual(names);
    const { volumes: _, ...first } = services['gateway-1'] as Service;
    const { volumes: __, ...second } = services['gateway-2'] as Service;
    expect(first).toEqual(second);
  });

  it('mounts files that exist and volumes that it declares', () => {
    const mounts = Object.values(services).flatMap(({ volumes = [] }) => volumes);
    const sources = mounts.map((mount) => String(mount.split(':')[0]));
    const [files, volumes] = [true, false].map((isFile) =>
      sources.filter((source) => source.startsWith('.') === isFile),
    );
    expect(files?.filter((path) => !existsSync(join(DEPLOY, path)))).toEqual([]);
    expect(volumes?.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
    expect(files?.length).toBeGreaterThan(3);
  });

  it('waits only for services that it has', () => {
    const awaited = Object.values(services).flatMap(({ depends_on = [] }) =>
      Array.isArray(depends_on) ? depends_on : Object.keys(depends_on),
    );
    expect(awaited.filter((name) => !(name in services))).toEqual([]);
  });

  it('holds no secret, and says where each comes from', () => {
    const asked = [...read('compose.yaml').matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name);
    const example = new Map(
      read('.env.example')
        .split('\n')
        .filter((line) => /^[A-Z]/.test(line))
        .map((line) => line.split('=', 2) as [string, string]),
    );
    expect([...new Set(asked)].filter((name) => !example.has(String(name)))).toEqual([]);
    expect([...example].filter(([, value]) => value !== '').map(([name]) => name)).toEqual([
      'PUBLIC_NAME',
    ]);
  });

  it('gives every gateway what its configuration names, and the node its key alone', async () => {
    const { environment = {} } = services['gateway-1'] as Service;
    const path = join(DEPLOY, 'config/starloom.yaml');
    const { value } = await loadGatewayConfig({ path, env: filled(environment), cwd: DEPLOY });
    expect(value.registry.kind).toBe('postgres');
    expect(value.coordination.kind).toBe('redis');
    expect(value.jobs.kind).toBe('postgres');
    expect(value.listen.names).toEqual(['gateway-1', 'gateway-2', 'localhost']);
    expect(Object.keys(services['node-1']?.environment ?? {})).toEqual(['NODE_KEY']);
  });

  it('balances over the gateways, without keeping clients at one of them', () => {
    const config = read('config/nginx.conf').replaceAll(/#.*/g, '');
    const balanced = [...config.matchAll(/server (gateway-\d):(\d+)/g)].map(([, name]) => name);
    expect(balanced).toEqual(['gateway-1', 'gateway-2']);
    expect(config).not.toMatch(/ip_hash|sticky|non_idempotent/);
    expect(config).toContain('proxy_buffering off');
  });

  it('has agents that the node can read', async () => {
    const manifests = await readAgentsFile(join(DEPLOY, 'node/agents.yaml'));
    expect(manifests.map(({ agent_id }) => agent_id)).toEqual(['echo']);
    const [script = ''] = manifests[0]?.endpoint.args ?? [];
    expect(existsSync(join(DEPLOY, 'node', script))).toBe(true);
  });

  it.each(['gateway-1', 'node-1'])('starts %s with options that the command has', (name) => {
    assertKnown(services[name]?.command ?? []);
  });
});

describe('the units of systemd', () => {
  it.each(['starloom.service', 'starloom-node.service'])('%s starts the command', (name) => {
    const unit = read(`systemd/${name}`);
    const [, command = ''] = /^ExecStart=\/usr\/bin\/env starloom (.*)$/m.exec(unit) ?? [];
    assertKnown(command.split(' '));
    expect(unit).toContain('DynamicUser=yes');
    expect(unit).toContain('UMask=0077');
  });
});

describe('the chart', () => {
  const chart = 'helm/starloom';
  const templates = readdirSync(join(DEPLOY, chart, 'templates')).map((name) =>
    read(join(chart, 'templates', name)),
  );
  const values = parse(read(join(chart, 'values.yaml')));

  it('names only values that have a default', () => {
    const named = templates.flatMap((text) =>
      [...text.matchAll(/\.Values\.([\w.]+)/g)].map(([, path = '']) => path),
    );
    const isThere = (path: string) =>
      path.split('.').reduce((at, key) => Object(at)[key], values) !== undefined;
    expect(named.length).toBeGreaterThan(10);
    expect([...new Set(named)].filter((path) => !isThere(path))).toEqual([]);
  });

  it('starts gateways and nodes with options that the command has', () => {
    const flags = templates.flatMap((text) => text.match(/--[a-z]+/g) ?? []);
    for (const flag of new Set(flags)) expect(CLI).toContain(flag);
  });

  it('has the version of the product', () => {
    const { version } = parse(read('../packages/starloom/package.json'));
    expect(parse(read(join(chart, 'Chart.yaml')))).toMatchObject({ version, appVersion: version });
  });
});

/** Every word that looks like an option is one of the documented command, or of all commands. */
function assertKnown([command = '', ...words]: readonly string[]): void {
  const row = CLI.split('\n').find((line) => line.startsWith(`| \`starloom ${command}`)) ?? '';
  const known = ['--json', '--config', ...(row.match(/--[a-z-]+/g) ?? [])];
  expect(row).not.toBe('');
  expect(words.filter((word) => word.startsWith('--') && !known.includes(word))).toEqual([]);
}

function filled(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(/\$\{\w+:-([^}]*)\}/, '$1').replaceAll(/\$\{[^}]*\}/g, secretOf(name)),
    ]),
  );
}

/** Looks random, and differs by name. */
function secretOf(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}

function read(path: string): string {
  return readFileSync(join(DEPLOY, path), 'utf8');
}
