// Attacks by what is in a request's body, or never comes.

import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attack,
  Counts,
  comesTrue,
  loops,
  problemsIf,
  type Target,
  times,
} from '../attack.ts';
import { openAgent, post, toBody, toolCall } from '../http-client.ts';

const MEGABYTE = 1024 ** 2;
const BODY_BYTES = 4 * MEGABYTE;
const UNFINISHED = 300;
/** The budget of a principal is 64 MiB of unfinished bodies; each here is nearly four. */
const MAX_HELD = 20;
const ANSWER_MS = 20_000;
/** An attacker sends for this long at most: a proxy whose agent does not read stops reading too. */
const SEND_MS = 500;

export const unauthenticatedBodies: Attack = {
  about: 'bodies of 4 MB without a key, on eight connections',
  isProxied: true,
  async run(target) {
    const body = toolCall('fabric.call', { list: '['.repeat(8) }).replace(
      '"[[[[[[[["',
      `[${'[],'.repeat(BODY_BYTES / 3 - 100)}[]]`,
    );
    const counts = new Counts();
    const answeredFirst = await isRefusedBeforeItsBody(target);
    await loops(target, 8, async () => {
      const { status } = await post(target.url, { body });
      counts.add(`status_${status}`);
      // A client whose connection was cut in the middle of its body sees a reset.
      if (status === 0) await delay(5);
    });
    const served = counts.total - counts.of('status_401') - counts.of('status_0');
    return {
      operations: counts.total,
      counts: counts.counts,
      problems: problemsIf({
        'a client without a key was answered only after its body was read': !answeredFirst,
        'a client without a key got another answer than 401': served > 0,
      }),
    };
  },
};

export const unfinishedBodies: Attack = {
  about: '300 unfinished bodies without a key, and 300 with one',
  isProxied: true,
  async run(target) {
    const unknown = await holdBodies(target, undefined);
    const known = await holdBodies(target, target.key);
    await delay(target.seconds * 1_000);
    const held = { without_key: unknown.held(), with_key: known.held() };
    for (const { socket } of [...unknown.uploads, ...known.uploads]) socket.destroy();
    return {
      operations: 2 * UNFINISHED,
      counts: held,
      problems: problemsIf({
        'unfinished bodies of a client without a key are held': held.without_key > 0,
        [`more than ${MAX_HELD} unfinished bodies of one principal are held`]:
          held.with_key > MAX_HELD,
      }),
    };
  },
};

export const deepAndWideJson: Attack = {
  about: 'deep and wide JSON with a key, on four connections',
  isProxied: true,
  async run(target) {
    const agent = openAgent(4);
    const bodies = [
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"deep":${'['.repeat(500_000)}${']'.repeat(500_000)}}}`,
      wideBody(),
      toBody('ping', {}).replace('{}', `{"list":[${'{},'.repeat(1_000_000)}{}]}`),
    ];
    const counts = new Counts();
    await loops(target, 4, async (turn) => {
      const body = bodies[turn % bodies.length] ?? '';
      const { status } = await post(target.url, { key: target.key, body, agent });
      counts.add(`status_${status}`);
    });
    agent.destroy();
    return { operations: counts.total, counts: counts.counts, problems: [] };
  },
};

export const abortedUploads: Attack = {
  about: 'uploads that are aborted halfway, again and again',
  isProxied: true,
  quietLog: true,
  async run(target) {
    let uploads = 0;
    await loops(target, 16, async () => {
      const upload = await openUpload(target, target.key, 10_000);
      upload.socket.destroy();
      uploads += 1;
    });
    return { operations: uploads, counts: {}, problems: [] };
  },
};

function wideBody(): string {
  const keys = Array.from({ length: 300_000 }, (_, n) => `"k${n}":0`);
  return toBody('tools/call', {}).replace('{}', `{"wide":{${keys.join(',')}}}`);
}

interface Upload {
  readonly socket: Socket;
  isAnswered(): boolean;
}

async function isRefusedBeforeItsBody(target: Target): Promise<boolean> {
  const upload = await openUpload(target, undefined, 0);
  const isAnswered = await comesTrue(upload.isAnswered, ANSWER_MS);
  upload.socket.destroy();
  return isAnswered;
}

async function holdBodies(target: Target, key: string | undefined) {
  const uploads: Upload[] = [];
  await times(UNFINISHED, 16, async () => {
    uploads.push(await openUpload(target, key, BODY_BYTES - MEGABYTE / 8));
  });
  const held = () => uploads.filter(({ isAnswered }) => !isAnswered()).length;
  const most = key === undefined ? 0 : MAX_HELD;
  if (!target.isProxy) await comesTrue(() => held() <= most, ANSWER_MS);
  return { uploads, held };
}

/** Announces four megabytes and sends so many bytes of them, as far as the target reads them. */
async function openUpload(
  { url }: Target,
  key: string | undefined,
  bytes: number,
): Promise<Upload> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  let isAnswered = false;
  const onAnswer = () => {
    isAnswered = true;
  };
  socket.on('data', onAnswer).on('error', onAnswer).on('close', onAnswer);
  const head = [
    'POST /mcp HTTP/1.1',
    `Host: ${host}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${BODY_BYTES}`,
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('close', () => resolve());
  if (bytes === 0) socket.once('connect', () => resolve());
  else socket.write(Buffer.alloc(bytes, '"').fill('x', 1), () => resolve());
  const timer = setTimeout(resolve, SEND_MS);
  await promise;
  clearTimeout(timer);
  return { socket, isAnswered: () => isAnswered };
}
