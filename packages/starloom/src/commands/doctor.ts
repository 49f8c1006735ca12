// What is wrong here, and the fix: of this machine, the configuration, and the gateway if one runs.

import { X509Certificate } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { createServer } from 'node:net';
import { problemsOf, revealText } from '@starloom/config';
import { FabricError } from '@starloom/core';
import { type GatewayConfig, loadGatewayConfig } from '@starloom/gateway/config';
import { diskRoom } from '@starloom/wire';
import type { Command } from 'commander';
import { action, type GlobalOptions, withExamples } from '../command-line.ts';
import { connectToGateway, readAddress } from '../gateway-client.ts';
import { bytes } from '../journal-view.ts';
import { count } from '../report-error.ts';
import { stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { line, paint, type Style, table } from '../terminal-text.ts';

interface Finding {
  readonly part: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly note: string;
  readonly fix?: string | undefined;
}

const FLOOR = [22, 19] as const;
const DAY_MS = 86_400_000;
const WARN_DAYS = 14;
const MAX_SKEW_MS = 5_000;
const EXIT_FAILED = 1;

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [['starloom doctor', 'what is wrong, and how to fix it']]).action(
    action(terminal, () => examine),
  );
}

async function examine(terminal: Terminal, options: GlobalOptions): Promise<void> {
  const { env, cwd } = terminal;
  const findings = [nodeFinding(process.versions.node), ...folderFindings(stateFolder(env))];
  const loading = loadGatewayConfig({ path: options.config, env, cwd });
  const config = await loading.then(
    ({ value }) => {
      findings.push({ part: 'configuration', status: 'ok', note: 'valid' });
      findings.push(...certificateFindings(value, Date.now()));
      return value;
    },
    (error: unknown) => void findings.push(configFinding(error)),
  );
  const running = await gatewayFindings(terminal);
  findings.push(...running.findings);
  if (config && !running.isUp) findings.push(await portFinding(config.listen));
  const isWell = findings.every(({ status }) => status !== 'failed');
  if (!isWell) terminal.exitCode = EXIT_FAILED;
  if (options.json) return terminal.json({ ok: isWell, findings });
  terminal.print(report(findings, terminal.columns));
}

const STYLES: Record<Finding['status'], Style> = { ok: 'green', warning: 'yellow', failed: 'red' };

export function report(findings: readonly Finding[], columns?: number): string {
  const rows = findings.map(({ part, status, note }) => {
    return [part, paint(STYLES[status], status), note];
  });
  const fixes = findings.flatMap(({ part, note, status, fix }) =>
    status === 'ok'
      ? []
      : [line`${part}: ${note}`, ...(fix === undefined ? [] : [line`  fix: ${fix}`])],
  );
  return [
    table(['PART', 'STATUS', ''], rows, columns),
    ...(fixes.length > 0 ? ['', ...fixes] : ['', 'nothing is wrong']),
  ].join('\n');
}

export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNew = major > FLOOR[0] || (major === FLOOR[0] && minor >= FLOOR[1]);
  const fix = `install Node ${FLOOR.join('.')} or newer`;
  return { part: 'node', status: isNew ? 'ok' : 'failed', note: version, fix };
}

function folderFindings(folder: string): Finding[] {
  const { room, size } = diskRoom(folder);
  const disk: Finding = {
    part: 'disk',
    status: room <= 0 ? 'failed' : 'ok',
    note: Number.isFinite(size) ? `${bytes(Math.max(0, room))} free for starloom` : 'size unknown',
    fix: `make room on the disk of ${folder}`,
  };
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return [{ part: 'state folder', status: 'ok', note: folder }, disk];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') {
      return [{ part: 'state folder', status: 'ok', note: `${folder}, made at the first start` }];
    }
    const fix = 'make it writable, or set STARLOOM_HOME';
    return [{ part: 'state folder', status: 'failed', note: `${folder} (${code})`, fix }, disk];
  }
}

function configFinding(thrown: unknown): Finding {
  const error = FabricError.from(thrown);
  const [first] = problemsOf(error) ?? [];
  const note = first ? `${first.file ?? ''} ${first.key}: ${first.message}` : error.message;
  const fix = first?.fix ?? 'see "starloom config validate"';
  return { part: 'configuration', status: 'failed', note, fix };
}

function certificateFindings({ listen }: GatewayConfig, now: number): Finding[] {
  if (!listen.tls) return [];
  try {
    const { validTo } = new X509Certificate(revealText(listen.tls.certificate));
    const days = Math.floor((Date.parse(validTo) - now) / DAY_MS);
    const status = days < 0 ? 'failed' : days < WARN_DAYS ? 'warning' : 'ok';
    const fix = 'replace its file; no restart is needed';
    return [{ part: 'certificate', status, note: `valid until ${validTo}, ${days} days`, fix }];
  } catch (error) {
    const note = error instanceof Error ? error.message : String(error);
    const fix = 'name a PEM file in listen.tls.certificate';
    return [{ part: 'certificate', status: 'failed', note, fix }];
  }
}

async function portFinding({ host, port }: GatewayConfig['listen']): Promise<Finding> {
  const server = createServer();
  const problem = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve);
    server.listen(port, host, () => resolve(undefined));
  });
  server.close();
  const note = `${host}:${port}${problem ? ` (${problem.code})` : ' is free'}`;
  const fix = 'stop the program that uses it, or start with --port';
  return { part: 'port', status: problem ? 'failed' : 'ok', note, fix };
}

/** Of the gateway that the commands of this folder reach: its clock, engines and agents. */
async function gatewayFindings(
  terminal: Terminal,
): Promise<{ isUp: boolean; findings: Finding[] }> {
  try {
    await using client = await connectToGateway(terminal);
    const skew = await clockSkew(client.url, terminal.env);
    const { gateway, registry, engines, agents } = await client.call('fabric.health', {});
    return {
      isUp: true,
      findings: [
        { part: 'gateway', status: 'ok', note: `${client.url}, version ${gateway.version}` },
        ...skew,
        {
          part: 'registry',
          status: registry.ok ? 'ok' : 'failed',
          note: registry.message ?? `${registry.kind}, ${count(registry.agents, 'agent')}`,
          fix: 'correct the file with the agents; the last good one is in use',
        },
        ...Object.entries(engines).map(
          ([name, { kind, status, reason, fix }]): Finding => ({
            part: name,
            status: status === 'ok' ? 'ok' : status === 'degraded' ? 'warning' : 'failed',
            note: [kind, reason].filter(Boolean).join(', '),
            fix,
          }),
        ),
        ...agents.list.map(
          ({ agent_id, status, breaker, message, fix }): Finding => ({
            part: `agent ${agent_id}`,
            status: status === 'offline' ? 'failed' : breaker === 'closed' ? 'ok' : 'warning',
            note: [status, breaker === 'closed' ? '' : `circuit ${breaker}`, message]
              .filter(Boolean)
              .join(', '),
            fix,
          }),
        ),
      ],
    };
  } catch (thrown) {
    const { message, details } = FabricError.from(thrown);
    const fix = typeof details.fix === 'string' ? details.fix : 'start one with "starloom up"';
    return { isUp: false, findings: [{ part: 'gateway', status: 'warning', note: message, fix }] };
  }
}

async function clockSkew(url: string, env: Terminal['env']): Promise<Finding[]> {
  const { headers } = await readAddress(env);
  const asked = Date.now();
  const answer = await fetch(new URL('/livez', url), { headers });
  const said = Date.parse(answer.headers.get('date') ?? '');
  if (Number.isNaN(said)) return [];
  const skew = said - (asked + Date.now()) / 2;
  const isOff = Math.abs(skew) > MAX_SKEW_MS;
  const off = `${Math.round(skew / 1_000)} s off the gateway's`;
  const note = isOff ? off : 'the same as the gateway';
  const fix = 'set the clocks by NTP: leases, tokens and certificates depend on them';
  return [{ part: 'clock', status: isOff ? 'warning' : 'ok', note, fix }];
}
