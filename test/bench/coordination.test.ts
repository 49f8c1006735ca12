import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { FanOut } from '../../bench/coordination/clients/fan-out.ts';
import { createFrameReader, TEXT, toFrame } from '../../bench/coordination/clients/frames.ts';
import { measureResume } from '../../bench/coordination/clients/resume.ts';
import { measureUpdates } from '../../bench/coordination/clients/updates.ts';
import { measureHere } from '../../bench/coordination/measure-here.ts';
import { parseOptions } from '../../bench/coordination/options.ts';
import { type CellName, SIZES, type TargetName } from '../../bench/coordination/plan.ts';
import { parseMonitorLine } from '../../bench/coordination/redis-commands.ts';
import { toReport } from '../../bench/coordination/report.ts';
import type { Measured, MeasuredTarget } from '../../bench/coordination/run.ts';
import { toMarkdown } from '../../bench/coordination/table.ts';

const ORIGIN = { versions: {}, commit: 'abc', machine: '2 shared cores', date: '2026-01-01' };

describe('the report', () => {
  it('compares targets within a round, and takes the median over the rounds', () => {
    const updates = [
      target('redis.lock_token', 'starloom', [50, 8, 200]),
      target('redis.lock_token', 'bare', [100, 10, 1000]),
    ];
    const { ratios } = toReport(measured({ updates }), ORIGIN);
    expect(ratios).toEqual({ 'starloom_over_bare.redis.lock_token': 0.5 });
  });

  it('gives rates and the CPU time of all updates', () => {
    const slices = [
      { updates: 100, seconds: 1, cpuMicroseconds: 2_000 },
      { updates: 300, seconds: 1, cpuMicroseconds: 2_000 },
    ];
    const updates = [{ cell: 'embedded.memory', name: 'starloom', slices } as const];
    const { figures } = toReport(measured({ updates }), ORIGIN);
    const starloom = { updates_per_second: 200, cpu_us: 10 };
    expect(figures.updates).toEqual({ 'embedded.memory': { starloom } });
  });

  it('fails a target that went wrong once, and one that did nothing', () => {
    const wrong = { updates: 10, seconds: 1, failure: 'lock lost' };
    const updates = [
      { ...target('redis.with_lock', 'bare', [1]), slices: [wrong] },
      target('embedded.memory', 'starloom', [0]),
      target('embedded.durable', 'starloom', [1]),
    ];
    const report = toReport(measured({ updates }), ORIGIN);
    expect(report).toMatchObject({ passed: 1, failed: 2, skipped: 9 });
    expect(report.failures).toEqual([
      'redis.with_lock bare: lock lost',
      'embedded.memory starloom: no update',
    ]);
  });

  it('gives times of the last delivery beside a bare server, and of resuming', () => {
    const result = (times: number[]) => ({
      result: { deliveries: times.map((lastMs) => ({ firstMs: 1, lastMs })) },
    });
    const report = toReport(
      measured({
        fanOuts: [
          { name: 'starloom', results: [result([9, 12]), result([15])] },
          { name: 'bare', results: [result([6])] },
        ],
        resume: { result: { resumedMs: [100, 300, 200] } },
      }),
      ORIGIN,
    );
    const times = { last_delivery_p50_ms: 12, last_delivery_p99_ms: 15 };
    expect(report.figures.fan_out.starloom).toMatchObject({ updates: 3, ...times });
    expect(report.figures.resume).toEqual({ events: 10_000, p50_ms: 200, most_ms: 300 });
    expect(report.ratios).toEqual({ 'starloom_over_bare.fan_out.last_delivery_p50_ms': 2 });
    expect(report).toMatchObject({ passed: 3, failed: 0, skipped: 9 });
  });

  it('holds the goal against updates during which nobody took the core away, and shows all', () => {
    const deliver = (count: number, lastMs: number) =>
      Array.from({ length: count }, () => ({ firstMs: 2, lastMs, cpuMs: 9.5 }));
    const fanOutOf = (calm: number) => {
      const deliveries = [...deliver(calm, 12), ...deliver(10, 90)];
      const results = [{ result: { deliveries } }];
      return toReport(measured({ fanOuts: [{ name: 'starloom', results }] }), ORIGIN);
    };
    const { figures, goals } = fanOutOf(100);
    expect(figures.fan_out.starloom).toMatchObject({
      updates: 110,
      last_delivery_p99_ms: 90,
      undisturbed: { updates: 100, last_delivery_p99_ms: 12 },
      server_cpu: { p50_ms: 9.5, p99_ms: 9.5 },
    });
    expect(goals).toMatchObject([{ measured: 12, met: true }]);
    const table = toMarkdown(fanOutOf(100));
    expect(table).toContain('| … 100 undisturbed of 110 | 12 | 12 | – |');
    expect(table).toContain("| … CPU time of the server's main thread | 9.5 | 9.5 | – |");
    expect(fanOutOf(99).goals).toMatchObject([{ measured: 90, met: false }]);
  });

  it('says which goals were met, without failing for one that was not', () => {
    const updates = [
      target('embedded.memory', 'starloom', [49_000]),
      target('embedded.durable', 'starloom', [10_000]),
    ];
    const report = toReport(measured({ updates }), ORIGIN);
    expect(report.failed).toBe(0);
    expect(report.goals.map(({ asked, met }) => [asked, met])).toEqual([
      ['≥ 50000', false],
      ['≥ 10000', true],
    ]);
    expect(toMarkdown(report)).toContain('| embedded.memory | 49000 | – | – | – | – |');
  });

  it('holds the goal of an idle core against the CPU time, where that is known', () => {
    const slices = [{ updates: 40_000, seconds: 1, cpuMicroseconds: 640_000 }];
    const updates = [{ ...target('embedded.memory', 'starloom', []), slices }];
    const [goal] = toReport(measured({ updates }), ORIGIN).goals;
    expect(goal).toMatchObject({ measured: 62_500, met: true });
    expect(goal?.name).toContain('of CPU time');
  });

  it('fails a fan-out of which any round failed', () => {
    const results = [
      { result: { deliveries: [{ firstMs: 1, lastMs: 5 }] } },
      { failure: '3 never came' },
    ];
    const { failures } = toReport(measured({ fanOuts: [{ name: 'bare', results }] }), ORIGIN);
    expect(failures).toEqual(['fan_out bare: 3 never came']);
  });
});

describe('work in this process', () => {
  const endless = { measureMs: 3_600_000, signal: new AbortController().signal };

  it('counts the updates of all workers', async () => {
    const workersSeen = new Set<number>();
    const over = new AbortController();
    let steps = 0;
    const step = (worker: number) => {
      workersSeen.add(worker);
      steps += 1;
      if (steps === 30) over.abort();
    };
    const slice = { ...endless, signal: over.signal };
    const { updates, failure } = await measureHere({ workers: 3, updatesPerStep: 4, step }, slice);
    expect(failure).toBeUndefined();
    expect(workersSeen).toEqual(new Set([0, 1, 2]));
    expect(updates).toBe(steps * 4);
  });

  it('ends with the first update that fails, and says why', async () => {
    const step = async (_: number, turn: number) => {
      if (turn >= 5) throw new Error('refused');
    };
    const result = await measureHere({ workers: 1, updatesPerStep: 1, step }, endless);
    expect(result).toMatchObject({ updates: 5, failure: 'refused' });
  });
});

describe('what MONITOR shows', () => {
  it('is read back as the words that were sent', () => {
    const line = String.raw`1700000000.123456 [0 127.0.0.1:50000] "SET" "a key" "{\"t\":\"\\\\ \xc3\xa9\n\"}" ""`;
    expect(parseMonitorLine(line)).toEqual(['SET', 'a key', '{"t":"\\\\ é\n"}', '']);
  });

  it('is nothing of ours when a script sent it', () => {
    expect(parseMonitorLine('1700000000.1 [0 lua] "HGET" "key"')).toBeUndefined();
  });
});

describe('frames', () => {
  it.each([0, 125, 126, 65_535, 65_536])('of %i bytes are read in any pieces', (length) => {
    const payload = Buffer.alloc(length, 'x');
    const whole = Buffer.concat([unmasked(toFrame(TEXT, payload)), unmasked(toFrame(TEXT, 'end'))]);
    const pieceSize = Math.max(1, Math.floor(whole.length / 7));
    const seen: [number, string][] = [];
    const read = createFrameReader((opcode, bytes) => seen.push([opcode, bytes.toString()]));
    for (let at = 0; at < whole.length; at += pieceSize) {
      const piece = whole.subarray(at, at + pieceSize);
      read(piece, piece.length);
    }
    expect(seen).toEqual([
      [TEXT, payload.toString()],
      [TEXT, 'end'],
    ]);
  });
});

describe('clients', () => {
  it('fail a fan-out in which somebody hears an update twice', async () => {
    await using gateway = await serve((text, socket, others) => {
      if (text.includes('.update"')) for (const other of others) tell(other, text, text);
      tell(socket, GRANTED);
    });
    const work = {
      kind: 'fan_out',
      ...gateway,
      subscribers: 3,
      measureMs: 200,
    } as const;
    using fanOut = await FanOut.open(work);
    await expect(fanOut.measure(work)).rejects.toThrow(/not what update \d+ should bring/);
  });

  it('fail a fan-out in which one hears an update twice and another not at all', async () => {
    await using gateway = await serve((text, socket, [first, , ...others]) => {
      if (text.includes('.update"')) {
        for (const other of others) tell(other, text);
        if (first) tell(first, text, text);
      }
      tell(socket, GRANTED);
    });
    const work = {
      kind: 'fan_out',
      ...gateway,
      subscribers: 3,
      measureMs: 200,
    } as const;
    using fanOut = await FanOut.open(work);
    await expect(fanOut.measure(work)).rejects.toThrow(/not what update 0 should bring/);
  });

  it('measure a fan-out in which everybody hears every update', async () => {
    await using gateway = await serve((text, socket, others) => {
      if (text.includes('.update"')) for (const other of others) tell(other, text);
      tell(socket, GRANTED);
    });
    const work = { kind: 'fan_out', ...gateway, subscribers: 3, measureMs: 50 } as const;
    using fanOut = await FanOut.open(work);
    const { deliveries } = await fanOut.measure(work);
    expect(deliveries.length).toBeGreaterThan(0);
  });

  it('fail a resume that leaves an event out', async () => {
    await using gateway = await serve((text, socket) => {
      tell(socket, GRANTED);
      if (text.includes('.subscribe"')) tell(socket, ...[1, 2, 4].map(toPush));
    });
    const work = { kind: 'resume', ...gateway, events: 4, times: 1 } as const;
    await expect(measureResume(work)).rejects.toThrow(/not event 3/);
  });

  it('measure a resume that brings all', async () => {
    await using gateway = await serve((text, socket) => {
      tell(socket, GRANTED);
      if (text.includes('.subscribe"')) tell(socket, ...[1, 2, 3].map(toPush));
    });
    const work = { kind: 'resume', ...gateway, events: 3, times: 2 } as const;
    expect((await measureResume(work)).resumedMs).toHaveLength(2);
  });

  it('end a slice of updates when one is refused', async () => {
    await using gateway = await serve((text, socket) => {
      tell(socket, text.includes('.update"') ? '{"error":{"code":-32014}}' : GRANTED);
    });
    const times = { rampMs: 0, measureMs: 3_600_000 };
    const work = { kind: 'update', ...gateway, connections: 2, ...times } as const;
    const failure = expect.stringContaining('-32014');
    expect(await measureUpdates(work)).toMatchObject({ updates: 0, failure });
  });
});

describe('the command', () => {
  it.each([['--fast'], ['--parts', 'etcd'], ['--seconds', '-1'], ['--warmup', 'long']])(
    'refuses %s %s and says what there is',
    (...args) => {
      expect(() => parseOptions(args)).toThrow(
        expect.objectContaining({
          code: 'BAD_INPUT',
          details: expect.objectContaining({ reason: 'usage' }),
        }),
      );
    },
  );

  it('measures everything unless it is told what', () => {
    expect(parseOptions([])).toMatchObject({ parts: ['embedded', 'redis', 'gateway'], pin: true });
    expect(parseOptions(['--parts', 'redis', '--no-pin', '--seconds', '2'])).toMatchObject({
      parts: ['redis'],
      pin: false,
      seconds: 2,
    });
  });
});

const GRANTED = JSON.stringify({ result: { session_id: 'one', lock_token: 1, cursor: 0 } });

function toPush(cursor: number): string {
  return JSON.stringify({ method: 'context_coordinator.update', params: { cursor } });
}

function tell(socket: WebSocket, ...texts: readonly string[]): void {
  for (const text of texts) socket.send(text);
}

function unmasked(frame: Buffer): Buffer {
  const short = (frame[1] ?? 0) & 0x7f;
  const start = short === 127 ? 10 : short === 126 ? 4 : 2;
  const head = Buffer.from(frame.subarray(0, start));
  head[1] = short;
  return Buffer.concat([head, frame.subarray(start + 4)]);
}

async function serve(
  answer: (text: string, socket: WebSocket, others: readonly WebSocket[]) => void,
) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (socket) => {
    socket.on('message', (data) => {
      const others = [...server.clients].filter((other) => other !== socket);
      answer(data.toString(), socket, others);
    });
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: { url: `http://127.0.0.1:${port}/rpc/ws`, headers: {} },
    pid: process.pid,
    async [Symbol.asyncDispose]() {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

function target(cell: CellName, name: TargetName, rates: readonly number[]): MeasuredTarget {
  return { cell, name, slices: rates.map((updates) => ({ updates, seconds: 1 })) };
}

function measured(part: Partial<Measured>): Measured {
  return { updates: [], fanOuts: [], sizes: SIZES, versions: {}, ...part };
}
