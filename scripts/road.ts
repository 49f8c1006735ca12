// `npm run road`: the files that one warm `fabric.call` enters, with policy rules, limits, log and audit
// on, by V8's coverage. `npm run road -- --write` writes them into docs/architecture.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { loadGatewayConfig } from '@starloom/gateway/config';
import { temporaryFolder } from '@starloom/testkit';
import { fabricCall, type HttpCall } from '../bench/mcp-call.ts';
import { ownProgram } from '../bench/own-program.ts';
import { Server } from '../bench/targets/server.ts';
import {
  benchAgent,
  GATEWAY_ENV,
  GATEWAY_HEADERS,
  writeGatewayConfig,
} from '../bench/targets/starloom.ts';
import { openGateway } from '../packages/starloom/src/open-gateway.ts';

/** Calls before the first that is measured, and those that are: no timer runs in each of them, however slow they are. */
const WARM_UP = 50;
const MEASURED = 25;

const ROOT = new URL('../', import.meta.url);
const PAGE = new URL('docs/architecture.md', ROOT);
const BLOCK = /(?<=<!-- road -->\n```text\n)[^`]*(?=```)/;

interface RoadFile {
  /** Below `packages/`, as `gateway/src/transports/http.ts`. */
  readonly path: string;
  readonly lines: number;
}

async function measureRoad(): Promise<readonly RoadFile[]> {
  await using folder = await temporaryFolder();
  const signal = AbortSignal.timeout(60_000);
  await using upstream = await Server.start(ownProgram('targets/upstream.ts'), {}, signal);
  const path = await writeGatewayConfig(folder.path, [benchAgent(upstream.url)]);
  const where = { path, env: GATEWAY_ENV, cwd: folder.path, flags: { port: 0 } };
  const opened = await openGateway({
    loaded: await loadGatewayConfig(where),
    env: GATEWAY_ENV,
    version: '0.0.0',
    stateFolder: folder.path,
    samples: false,
    logDestination: { write: () => {} },
  });
  try {
    const url = new URL('/mcp', await opened.gateway.listen());
    const call = fabricCall({ kind: 'unary' });
    for (let count = 0; count < WARM_UP; count += 1) await post(url, call);
    return toFiles(await enteredByEach(() => post(url, call)));
  } finally {
    await opened.close();
  }
}

/** Over a connection that stays open, as clients have it. */
async function post(url: URL, { headers, body, holds }: HttpCall): Promise<void> {
  const request = { method: 'POST', headers: { ...headers, ...GATEWAY_HEADERS }, body };
  const text = await (await fetch(url, request)).text();
  if (!holds.every((part) => text.includes(part))) throw new Error(`a wrong answer: ${text}`);
}

/** The scripts of which every one of the calls enters a function. */
async function enteredByEach(call: () => Promise<void>): Promise<ReadonlySet<string>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let common: ReadonlySet<string> | undefined;
  for (let count = 0; count < MEASURED; count += 1) {
    await session.post('Profiler.takePreciseCoverage');
    await call();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const entered = new Set(
      result
        .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
        .map(({ url }) => url),
    );
    common = common?.intersection(entered) ?? entered;
  }
  session.disconnect();
  return common ?? new Set();
}

function toFiles(urls: ReadonlySet<string>): readonly RoadFile[] {
  const packages = new URL('packages/', ROOT).href;
  const isOurs = (url: string) =>
    url.startsWith(packages) && /^[^/]+\/src\//.test(url.slice(packages.length));
  return [...urls]
    .filter(isOurs)
    .sort()
    .map((url) => {
      const lines = readFileSync(fileURLToPath(url), 'utf8').split('\n').length - 1;
      return { path: url.slice(packages.length), lines };
    });
}

/** As it is printed: the files by package and folder, then what they come to. */
function formatRoad(files: readonly RoadFile[]): string {
  const folders = Object.groupBy(files, ({ path }) => path.slice(0, path.lastIndexOf('/')));
  const parts = Object.entries(folders).map(([folder, inside = []]) => {
    const names = inside.map(({ path }) => path.slice(folder.length + 1));
    return `${folder}/\n  ${wrapped(names, 106).join('\n  ')}`;
  });
  const lines = files.reduce((sum, file) => sum + file.lines, 0);
  return `${parts.join('\n')}\n${files.length} files, ${lines} lines\n`;
}

function wrapped(words: readonly string[], width: number): string[] {
  const rows: string[] = [];
  for (const word of words) {
    const last = rows.at(-1);
    if (last !== undefined && last.length + word.length < width) {
      rows[rows.length - 1] = `${last} ${word}`;
    } else rows.push(word);
  }
  return rows;
}

const road = formatRoad(await measureRoad());
process.stdout.write(road);
if (process.argv.includes('--write')) {
  writeFileSync(
    PAGE,
    readFileSync(PAGE, 'utf8').replace(BLOCK, () => road),
  );
}
