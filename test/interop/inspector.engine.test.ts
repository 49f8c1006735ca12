import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../support/connect.ts';
import {
  type GatewayWorld,
  LAUNCHER,
  type RunningGateway,
  startGateway,
  writeWorld,
} from '../support/start-gateway.ts';
import { awaitTools } from './await-tools.ts';
import { inspect } from './inspector.ts';
import { everythingAgent, filesystemAgent } from './real-agents.ts';

const ERAS = ['legacy', 'modern'];
const CALL_ECHO = ['--tool-name', 'everything.echo', '--tool-arg', 'message=hello'];
const ECHOED = { result: { content: [{ type: 'text', text: 'Echo: hello' }] } };
const WORLD: GatewayWorld = {
  config: { telemetry: { log_level: 'warn' } },
  agents: [everythingAgent('everything'), filesystemAgent('files', tmpdir())],
};

describe("the Inspector's command line", () => {
  const stack = new AsyncDisposableStack();
  let home: TemporaryFolder;

  beforeAll(async () => {
    home = stack.use(await temporaryFolder());
  });

  afterAll(() => stack.disposeAsync());

  describe('over HTTP', () => {
    let gateway: RunningGateway;

    beforeAll(async () => {
      gateway = stack.use(await startGateway(WORLD));
      await using client = await connect(gateway);
      await awaitTools(client, 'everything.echo', 'files.read_text_file');
    });

    const http = (era: string, key: string, method: string, ...more: string[]) => {
      const server = ['--server-url', gateway.url, '--transport', 'http', '--protocol-era', era];
      const header = ['--header', `Authorization: Bearer ${key}`];
      return inspect(home.path, [...server, ...header, '--method', method, ...more]);
    };

    it.each(ERAS)('[G1] lists tools (%s), none with a schema that clients refuse', async (era) => {
      const { code, answer } = await http(era, gateway.key, 'tools/list', '--strict');
      expect(namesIn(answer)).toEqual(expect.arrayContaining(['fabric.call', 'everything.echo']));
      expect(code).toBe(0);
    });

    it.each(ERAS)('[G1] calls a tool (%s)', async (era) => {
      const { code, answer } = await http(era, gateway.key, 'tools/call', ...CALL_ECHO);
      expect(answer).toMatchObject(ECHOED);
      expect(code).toBe(0);
    });

    it.each(ERAS)("[G22] receives a tool's error as the agent wrote it (%s)", async (era) => {
      const path = ['--tool-name', 'files.read_text_file', '--tool-arg', 'path=/etc/hostname'];
      const { answer } = await http(era, gateway.key, 'tools/call', ...path);
      expect(answer).toMatchObject({
        result: {
          isError: true,
          content: [{ type: 'text', text: expect.stringMatching(/^Access denied - path outside/) }],
        },
      });
    });

    it.each(ERAS)('[G22] learns which argument is wrong (%s)', async (era) => {
      const given = ['--tool-name', 'everything.get-sum', '--tool-arg', 'a=1'];
      const { answer } = await http(era, gateway.key, 'tools/call', ...given);
      expect(answer).toMatchObject({
        result: { _meta: { 'io.starloom/error': { error: { code: 'BAD_INPUT' } } } },
      });
    });

    it.each(ERAS)('[G22] reads a resource that a tool linked to (%s)', async (era) => {
      const links = ['--tool-name', 'everything.get-resource-links', '--tool-arg', 'count=1'];
      const { answer } = await http(era, gateway.key, 'tools/call', ...links);
      const { result } = answer as { result: { content: { type: string; uri?: string }[] } };
      const uri = result.content.find(({ type }) => type === 'resource_link')?.uri ?? '';
      const read = await http(era, gateway.key, 'resources/read', '--uri', uri);
      expect(read.answer).toMatchObject({ result: { contents: [{ uri }] } });
    });

    it.each(ERAS)('is not let in with a wrong key (%s)', async (era) => {
      const wrong = 'wrong-key-0123456789abcdef';
      const { code, stderr } = await http(era, wrong, 'tools/list', '--stored-auth-only');
      expect(stderr).toContain('auth_required');
      expect(code).not.toBe(0);
    });
  });

  describe('over stdio', () => {
    let folder: string;

    beforeAll(async () => {
      folder = stack.use(await writeWorld(WORLD)).path;
    });

    const stdio = (era: string, method: string, ...more: string[]) => {
      const server = [process.execPath, LAUNCHER, 'up', '--stdio', '--cwd', folder];
      const state = ['-e', `STARLOOM_HOME=${join(folder, 'state')}`];
      const options = ['--protocol-era', era, '--method', method];
      return inspect(home.path, [...server, ...state, ...options, ...more]);
    };

    it.each(ERAS)('[G1] lists tools (%s)', async (era) => {
      const { code, answer } = await stdio(era, 'tools/list');
      expect(namesIn(answer)).toEqual(expect.arrayContaining(['fabric.call', 'everything.echo']));
      expect(code).toBe(0);
    });

    it.each(ERAS)('[G1] calls a tool (%s)', async (era) => {
      const { code, answer } = await stdio(era, 'tools/call', ...CALL_ECHO);
      expect(answer).toMatchObject(ECHOED);
      expect(code).toBe(0);
    });
  });
});

function namesIn(answer: unknown): string[] {
  const { result } = answer as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name);
}
