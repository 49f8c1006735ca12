// The mistakes people make in `starloom.yaml`: each must be refused at the right key and line, with
// a fix that names what to write.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Problem, problemsOf } from '@starloom/config';
import { describe, expect, it } from 'vitest';
import { loadGatewayConfig } from '../src/config.ts';

type Mistake = readonly [name: string, yaml: string, key: string, line: number, fix: RegExp];

const ENV = {
  CI_KEY: 'kX7mQ2vN9pR4tW8yB3cF',
  SHORT: 'kX7mQ2vN',
  DEFAULT: 'changeme-changeme',
  WORDS: 'Password_Secret_123',
  SAME: 'aaaaaaaaaaaaaaaaaaaaaaaa',
  EMPTY: '',
  DATABASE: 'mysql://user:pass@host/db',
};

const PSK = 'auth:\n  psk:\n    - key_id: ci\n      key: env:CI_KEY\n      principal: ci\n';

/** For short rows: `auth.psk[0].key` is line 4 of PSK. */
const PSK_KEY = 'auth.psk[0].key';

const MISTAKES: readonly Mistake[] = [
  // names
  ['a misspelt section', 'lisen: {port: 1}', 'lisen', 1, /"listen"/],
  ['a misspelt key', 'listen:\n  host: localhost\n  prot: 1', 'listen.prot', 3, /"port"/],
  ['a key in camel case', 'limits: {bodyBytes: 1}', 'limits.bodyBytes', 1, /"body_bytes"/],
  ['a key with dashes', 'mcp:\n  tool-names: dots', 'mcp.tool-names', 2, /"tool_names"/],
  ['a key in capitals', 'listen:\n  PORT: 1', 'listen.PORT', 2, /"port"/],
  ['a key at the wrong level', 'registry: {kind: yaml}\nport: 80', 'port', 2, /listen\.port/],
  ['a section inside another', 'listen:\n  psk: []', 'listen.psk', 2, /auth\.psk/],
  ['an unknown section', 'listen: {}\nplugins: []', 'plugins', 2, /remove/],
  [
    'a key of another kind',
    'registry:\n  kind: yaml\n  url: postgres://h',
    'registry.url',
    3,
    /change the kind/,
  ],
  ['a misspelt key of a kind', 'registry:\n  kind: yaml\n  paht: x', 'registry.paht', 3, /"path"/],
  [
    'a misspelt key of a shared key',
    `${PSK}      scope: ["*"]`,
    'auth.psk[0].scope',
    6,
    /"scopes"/,
  ],
  ['a key twice', 'listen: {port: 1}\nmcp: {}\nlisten: {port: 2}', 'listen', 3, /keep one/],
  // jobs
  [
    'a schedule that is none',
    'jobs:\n  kind: sqlite\n  schedules:\n    - {name: a, cron: daily, agent_id: percy, capability: reason}',
    'jobs.schedules[0].cron',
    4,
    /five fields/,
  ],
  [
    'a schedule for a principal without a key',
    'jobs:\n  kind: sqlite\n  schedules:\n    - {name: a, cron: "0 3 * * *", agent_id: percy, capability: reason, principal: eve}',
    'jobs.schedules[0].principal',
    4,
    /auth\.psk/,
  ],
  // policy
  [
    'a rule with a misspelt name',
    'policy:\n  rules:\n    - name: a\n      when: agnet.id == "x"\n      effect: deny',
    'policy.rules[0].when',
    4,
    /principal, agent, capability/,
  ],
  [
    'a rule that is no condition',
    'policy:\n  rules:\n    - {name: a, when: agent.id, effect: deny}',
    'policy.rules[0].when',
    3,
    /compare it/,
  ],
  [
    'a rule with a regular expression',
    'policy:\n  rules:\n    - {name: a, when: \'capability.matches("x")\', effect: deny}',
    'policy.rules[0].when',
    3,
    /glob/,
  ],
  [
    'an effect that is none',
    'policy:\n  rules:\n    - {name: a, when: "true", effect: block}',
    'policy.rules[0].effect',
    3,
    /allow, deny/,
  ],
  [
    'two rules of one name',
    'policy:\n  rules:\n    - {name: a, when: "true", effect: deny}\n    - {name: a, when: "true", effect: deny}',
    'policy.rules[1].name',
    4,
    /its own name/,
  ],
  [
    'a rule with the name of a built-in one',
    'policy:\n  rules:\n    - {name: default, when: "true", effect: deny}',
    'policy.rules[0].name',
    3,
    /another name/,
  ],
  // listen
  ['a port in quotes', 'listen: {port: "7420"}', 'listen.port', 1, /without quotes/],
  ['a port too high', 'listen:\n  port: 70000', 'listen.port', 2, /0 to 65535/],
  ['a port below zero', 'listen: {port: -1}', 'listen.port', 1, /0 to 65535/],
  ['half a port', 'listen: {port: 80.5}', 'listen.port', 1, /whole number/],
  ['no port', 'listen:\n  port:\n', 'listen.port', 2, /give it a value/],
  ['a port in the host', 'listen: {host: "localhost:80"}', 'listen.host', 1, /without port/],
  ['a URL as host', 'listen: {host: "http://localhost"}', 'listen.host', 1, /host name/],
  ['an empty host', 'listen: {host: ""}', 'listen.host', 1, /host name/],
  ['a number as host', 'listen: {host: 127}', 'listen.host', 1, /quotes/],
  ['an address instead of a map', 'listen: 127.0.0.1:7420', 'listen', 1, /host, port/],
  ['a list instead of a map', 'listen:\n  - port: 1', 'listen', 2, /a map/],
  ['a section without keys', 'mcp: {}\nlisten:\n', 'listen', 2, /remove the key/],
  // registry
  ['a registry without kind', 'registry: {path: x}', 'registry.kind', 1, /"yaml"/],
  [
    'a misspelt kind',
    'registry: {kind: postgress, url: postgres://h}',
    'registry.kind',
    1,
    /"postgres"/,
  ],
  ['a registry named by its file', 'registry: ./agents.yaml', 'registry', 1, /kind, path/],
  ['an empty path', 'registry: {kind: yaml, path: ""}', 'registry.path', 1, /at least 1/],
  ['Postgres without url', 'registry:\n  kind: postgres', 'registry.url', 1, /add "url"/],
  [
    'a URL with a password',
    'registry:\n  kind: postgres\n  url: postgres://u:hunter2@h/db',
    'registry.url',
    3,
    /env:NAME/,
  ],
  [
    'a URL of another engine',
    'registry: {kind: postgres, url: mysql://h}',
    'registry.url',
    1,
    /postgres:\/\//,
  ],
  [
    'a variable with a URL of another engine',
    'registry: {kind: postgres, url: env:DATABASE}',
    'registry.url',
    1,
    /postgres:\/\//,
  ],
  [
    'etcd without members',
    'registry: {kind: etcd, endpoints: []}',
    'registry.endpoints',
    1,
    /at least 1/,
  ],
  [
    'etcd with one text',
    'registry: {kind: etcd, endpoints: "http://h:2379"}',
    'registry.endpoints',
    1,
    /list/,
  ],
  [
    'a package name that is a path',
    'registry: {kind: package, package: ../mine}',
    'registry.package',
    1,
    /npm package/,
  ],
  // auth
  ['yes for true', 'auth: {anonymous: yes}', 'auth.anonymous', 1, /true or false/],
  [
    'anonymous beyond loopback',
    'listen: {host: 0.0.0.0}\nauth:\n  anonymous: true',
    'auth.anonymous',
    3,
    /auth\.psk.*127\.0\.0\.1/,
  ],
  [
    'a literal key',
    PSK.replace('env:CI_KEY', 'hunter2hunter2hunter2'),
    PSK_KEY,
    4,
    /env:NAME or file:PATH/,
  ],
  ['a key in shell notation', PSK.replace('env:CI_KEY', '$CI_KEY'), PSK_KEY, 4, /env:NAME/],
  ['a key from an unset variable', PSK.replace('CI_KEY', 'NOT_SET'), PSK_KEY, 4, /set NOT_SET/],
  [
    'a key from an empty variable',
    PSK.replace('CI_KEY', 'EMPTY'),
    PSK_KEY,
    4,
    /give EMPTY a value/,
  ],
  ['a key from a missing file', PSK.replace('env:CI_KEY', 'file:./nope'), PSK_KEY, 4, /nope/],
  ['a short key', PSK.replace('CI_KEY', 'SHORT'), PSK_KEY, 4, /random/],
  ['a default key', PSK.replace('CI_KEY', 'DEFAULT'), PSK_KEY, 4, /random/],
  ['a key of well-known words', PSK.replace('CI_KEY', 'WORDS'), PSK_KEY, 4, /random/],
  ['a key of one letter', PSK.replace('CI_KEY', 'SAME'), PSK_KEY, 4, /random/],
  ['a shared key without key', PSK.replace(/ +key:.*\n/, ''), PSK_KEY, 3, /add "key"/],
  [
    'a shared key without principal',
    PSK.replace(/ +principal:.*\n/, ''),
    'auth.psk[0].principal',
    3,
    /add "principal"/,
  ],
  [
    'a key_id twice',
    `${PSK}    - {key_id: ci, key: env:CI_KEY, principal: b}`,
    'auth.psk[1].key_id',
    6,
    /own key_id/,
  ],
  ['a map instead of a list of keys', 'auth:\n  psk:\n    ci: env:CI_KEY', 'auth.psk', 3, /a list/],
  ['an unknown tier', `${PSK}      tier: internal`, 'auth.psk[0].tier', 6, /"local", "org"/],
  ['scopes as one text', `${PSK}      scopes: "*"`, 'auth.psk[0].scopes', 6, /list/],
  [
    'a number as principal',
    PSK.replace('principal: ci', 'principal: 7'),
    'auth.psk[0].principal',
    5,
    /quotes/,
  ],
  // mcp, limits
  ['a misspelt spelling', 'mcp: {tool_names: underscore}', 'mcp.tool_names', 1, /"underscores"/],
  ['one agent instead of a list', 'mcp: {expose: percy}', 'mcp.expose', 1, /"all" or a list/],
  ['a number among agents', 'mcp: {expose: [percy, 7]}', 'mcp.expose[1]', 1, /quotes/],
  ['a reserved agent', 'mcp: {unprefixed: [fabric]}', 'mcp.unprefixed[0]', 1, /change it/],
  [
    'a size with a unit',
    'limits: {body_bytes: 4MiB}',
    'limits.body_bytes',
    1,
    /without quotes and units/,
  ],
  ['a limit of nothing', 'limits: {result_bytes: 0}', 'limits.result_bytes', 1, /from 1 to/],
  ['no depth', 'limits: {depth: 0}', 'limits.depth', 1, /1 to 100/],
  ['too much depth', 'limits: {depth: 101}', 'limits.depth', 1, /1 to 100/],
  ['endless depth', 'limits: {depth: .inf}', 'limits.depth', 1, /1 to 100/],
  // engines, telemetry
  ['Redis without url', 'coordination: {kind: redis}', 'coordination.url', 1, /add "url"/],
  [
    'Redis by http',
    'coordination: {kind: redis, url: http://h}',
    'coordination.url',
    1,
    /redis:\/\//,
  ],
  [
    'an interval with a unit',
    'coordination: {kind: embedded, heartbeat_interval_ms: 30s}',
    'coordination.heartbeat_interval_ms',
    1,
    /without quotes and units/,
  ],
  ['an unknown job store', 'jobs: {kind: mysql}', 'jobs.kind', 1, /"sqlite" or "postgres"/],
  ['a url for sqlite', 'jobs: {kind: sqlite, url: x}', 'jobs.url', 1, /change the kind/],
  [
    'an OTLP address without scheme',
    'telemetry: {otlp: "localhost:4318"}',
    'telemetry.otlp',
    1,
    /http:\/\//,
  ],
  ['false for no OTLP', 'telemetry: {otlp: false}', 'telemetry.otlp', 1, /null/],
  ['a level in other words', 'telemetry: {log_level: warning}', 'telemetry.log_level', 1, /"warn"/],
  // the file as a whole
  ['a list', '- listen: {}', '', 1, /a map/],
  ['a text', 'listen', '', 1, /listen, registry/],
  ['a tab', 'listen:\n\tport: 1', '', 2, /spaces/],
  ['a forgotten colon', 'listen:\n  port 1\n', 'listen', 2, /host, port/],
  ['a second document', 'listen: {}\n---\nmcp: {}', '', 2, /one document/],
];

describe('a mistake in starloom.yaml is refused with its key, its line and a fix', () => {
  it.each(MISTAKES)('%s', async (_, yaml, key, line, fix) => {
    const problems = await problemsIn(yaml);
    expect(problems).toHaveLength(1);
    const [problem] = problems;
    expect(problem).toMatchObject({ file: 'starloom.yaml', key, line });
    expect(problem?.fix).toMatch(fix);
    expect(problem?.message).not.toBe('');
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });

  it('all of them at once, when a file has several', async () => {
    const yaml = 'listen: {prot: 1}\nauth: {anonymous: maybe}\nlimits: {depth: 0}\njobs: {}\n';
    const keys = (await problemsIn(yaml)).map(({ key }) => key);
    expect(keys).toEqual(['listen.prot', 'auth.anonymous', 'limits.depth', 'jobs.kind']);
  });

  it('anonymous beyond loopback even when something else is wrong', async () => {
    const yaml = 'listen: {host: 0.0.0.0, port: x}\nauth: {anonymous: true}';
    const keys = (await problemsIn(yaml)).map(({ key }) => key);
    expect(keys).toEqual(['listen.port', 'auth.anonymous']);
  });
});

async function problemsIn(yaml: string): Promise<readonly Problem[]> {
  const cwd = await mkdtemp(join(tmpdir(), 'starloom-mistake-'));
  try {
    await writeFile(join(cwd, 'starloom.yaml'), yaml);
    await loadGatewayConfig({ cwd, env: ENV });
  } catch (error) {
    const problems = problemsOf(error);
    if (problems === undefined) throw error;
    return problems;
  } finally {
    await rm(cwd, { recursive: true });
  }
  throw new Error('It loaded');
}
