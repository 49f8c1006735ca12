import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { childEnvironment } from '@starloom/wire';
import { expect, it, onTestFinished } from 'vitest';
import {
  chromiumArguments,
  describeWithEngine,
  type Engine,
  engines,
  findProgram,
  openEngine,
  runProgram,
  temporaryFolder,
} from '../src/index.ts';

const VERSION = /^\d+\.\d+/;

describeWithEngine('redis', (engine) => {
  it('answers, and keeps its data over a kill', async () => {
    const { port, pid, version } = engine();
    expect(version).toMatch(VERSION);
    expect(await askRedis(port, 'SET fruit pear')).toBe('+OK');
    await engine().kill();
    expect(isRunning(pid)).toBe(false);
    await expect(askRedis(port, 'PING')).rejects.toThrow();

    await engine().restart();
    expect(engine().pid).not.toBe(pid);
    expect(await askRedis(port, 'GET fruit')).toBe('$4\r\npear');
  });

  it('runs beside a second one, which leaves nothing behind', async () => {
    let pid = 0;
    {
      await using second = await openEngine('redis');
      pid = second.pid;
      expect(second.port).not.toBe(engine().port);
      expect(second.url).toBe(`redis://127.0.0.1:${second.port}`);
    }
    expect(isRunning(pid)).toBe(false);
    expect(isRunning(engine().pid)).toBe(true);
  });
});

describeWithEngine('postgres', (engine) => {
  it('answers, and keeps its data over a restart and a kill', async () => {
    await queryPostgres(engine(), 'create table fruit as select 42 as pears');
    await engine().restart();
    expect(await queryPostgres(engine(), 'select pears from fruit')).toBe('42');
    await engine().kill();
    await engine().restart();
    expect(await queryPostgres(engine(), 'select pears from fruit')).toBe('42');
  });
});

describeWithEngine('chromium', (browser) => {
  it('runs a page of a loopback server', async () => {
    expect(browser().version).toMatch(VERSION);
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end('<p id="sum"></p><script>sum.textContent = 40 + 2</script>');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => {
      server.close();
    });
    await once(server, 'listening');
    const { port } = Object(server.address());
    await using folder = await temporaryFolder();
    const { code, stdout } = await runProgram({
      command: browser().path,
      args: [...chromiumArguments(folder.path), '--dump-dom', `http://127.0.0.1:${port}/`],
      env: childEnvironment({ extra: { HOME: folder.path } }),
    });
    expect(code).toBe(0);
    expect(stdout).toContain('<p id="sum">42</p>');
  });
});

async function askRedis(port: number, command: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(`${command}\r\n`);
    const [answer] = await once(socket, 'data');
    return String(answer).trimEnd();
  } finally {
    socket.destroy();
  }
}

async function queryPostgres(engine: Engine, sql: string): Promise<string> {
  const { code, stdout, stderr } = await runProgram({
    command: (await findProgram(['psql'], engines.postgres.program.folders)) ?? 'psql',
    args: ['--dbname', engine.url, '-tAc', sql],
  });
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
