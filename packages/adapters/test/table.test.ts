import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Adapter, FabricError, silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { adapters, openAdapter } from '../src/index.ts';
import { readAdapterFacts } from './fixtures/adapter-facts.ts';
import { runCall } from './fixtures/agent-world.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };

const KNOWN = Object.keys(adapters);
const FACTS = Object.entries(await readAdapterFacts());

const FACTORY = `function createAdapter({ manifest }) {
  return {
    async *call({ input }) {
      yield { type: 'final', data: { answer: input.task + ' from ' + manifest.agent_id } };
    },
    health: async () => ({ status: 'online', checked_at: null }),
    describe: async () => ({ capabilities: manifest.capabilities }),
    close: async () => {},
  };
}`;
const ESM = `export ${FACTORY}`;
const CJS = `${FACTORY}\nexports.createAdapter = createAdapter;`;

describe('the table of adapters', () => {
  it('has a line for each protocol that the tests know', async () => {
    expect(FACTS.map(([protocol]) => protocol).sort()).toEqual(KNOWN.toSorted());
    for (const { load, options } of Object.values(adapters)) {
      expect(await load()).toBeTypeOf('function');
      expect(options.safeParse({}).success).toBe(true);
      expect(options.safeParse({ no_such_option: 1 }).success).toBe(false);
    }
  });

  it.each(FACTS)('opens %s for an endpoint of that kind', async (_, { endpoint }) => {
    const adapter = await openAdapter({ manifest: exampleManifest({ endpoint }), log: silentLog });
    await adapter.close();
    expect((await runCall(adapter)).error).toMatchObject({ code: 'AGENT_OFFLINE' });
  });

  it.each(FACTS)('refuses an option that %s does not have', async (_, { endpoint }) => {
    const manifest = exampleManifest({ endpoint: { ...endpoint, options: { cdw: '/' } } });
    expect(await failureOf(openAdapter({ manifest, log: silentLog }))).toMatchObject({
      code: 'BAD_INPUT',
      details: { agent_id: 'subject', reason: 'bad_options', problems: [expect.any(String)] },
    });
  });

  it('refuses an endpoint that its adapter cannot use, and names the agent', async () => {
    const endpoint = { transport: 'http' as const, protocol: 'http', uri: 'http://a:b@127.0.0.1/' };
    const manifest = exampleManifest({ endpoint });
    expect(await failureOf(openAdapter({ manifest, log: silentLog }))).toMatchObject({
      code: 'BAD_INPUT',
      details: { agent_id: 'subject', protocol: 'http', reason: 'uri_credentials' },
    });
  });
});

describe('[G37] an adapter of another package', () => {
  it.each([
    [
      'made for import',
      '@acme/starloom-adapter-x',
      { exports: { '.': { types: './t.d.ts', import: './index.js' } }, type: 'module' },
      ESM,
    ],
    ['with one export', 'adapter-one', { exports: './index.js', type: 'module' }, ESM],
    [
      'with nested conditions',
      'adapter-nested',
      { exports: { node: { browser: './no.js', default: './index.js' } }, type: 'module' },
      ESM,
    ],
    ['made for require', 'adapter-old', { main: 'index.js' }, CJS],
    ['without any hint', 'adapter-plain', {}, CJS],
  ])('is found in the project of the user: %s', async (_, name, manifest, source) => {
    const project = createProject({
      [`node_modules/${name}/package.json`]: JSON.stringify({ name, ...manifest }),
      [`node_modules/${name}/index.js`]: source,
    });
    const adapter = await open(name, join(project, 'deep/inside'));
    expect((await runCall(adapter, 'hello')).answer).toBe('hello from subject');
  });

  it.each(['./my-adapter.mjs', '../my-adapter.mjs'])(
    'is found by its path: %s',
    async (protocol) => {
      const project = createProject({ 'my-adapter.mjs': ESM, 'sub/my-adapter.mjs': ESM });
      const adapter = await open(protocol, join(project, 'sub'));
      expect((await runCall(adapter, 'hello')).answer).toBe('hello from subject');
      expect((await adapter.health(CONTEXT)).status).toBe('online');
    },
  );

  it.each([
    ['no-such-package', 'unknown_protocol'],
    ['./no-such-file.js', 'unknown_protocol'],
    ['constructor', 'unknown_protocol'],
    ['../../etc/passwd\0', 'unknown_protocol'],
    ['Not A Package', 'unknown_protocol'],
    ['./throws.mjs', 'import_failed'],
    ['./empty.mjs', 'no_factory'],
    ['./half.mjs', 'not_an_adapter'],
    ['broken', 'bad_package'],
    ['hollow', 'bad_package'],
  ])('is refused when it is not there or brings none: %s', async (protocol, reason) => {
    const project = createProject({
      'throws.mjs': 'throw new Error("boom")',
      'empty.mjs': 'export const adapter = 1',
      'half.mjs': 'export const createAdapter = () => ({ call() {} })',
      'node_modules/broken/package.json': '{',
      'node_modules/hollow/package.json': '{"main":"gone.js"}',
    });
    expect(await failureOf(open(protocol, project))).toMatchObject({
      code: 'BAD_INPUT',
      details: {
        agent_id: 'subject',
        protocol,
        reason,
        known: KNOWN,
        fix: expect.any(String),
      },
    });
  });

  it('is not needed for a slip of the pen', async () => {
    const { details } = await failureOf(open('local-proces', createProject({})));
    expect(details.fix).toContain('"local-process"');
  });

  it('fails as it says itself', async () => {
    const project = createProject({
      'own.mjs': `export function createAdapter() {
        throw Object.assign(new Error('no licence'), { code: 'AUTH_DENIED' });
      }`,
    });
    expect(await failureOf(open('./own.mjs', project))).toMatchObject({
      code: 'INTERNAL',
      details: { agent_id: 'subject', protocol: './own.mjs' },
    });
  });
});

function open(protocol: string, baseFolder: string): Promise<Adapter> {
  const endpoint = { transport: 'http' as const, protocol, uri: 'http://127.0.0.1:1/' };
  return openAdapter({ manifest: exampleManifest({ endpoint }), log: silentLog }, { baseFolder });
}

function createProject(files: Readonly<Record<string, string>>): string {
  const project = mkdtempSync(join(tmpdir(), 'starloom-project-'));
  onTestFinished(() => rmSync(project, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), content);
  }
  return project;
}

async function failureOf(promise: Promise<unknown>): Promise<FabricError> {
  const failure = await promise.then(
    () => new Error('did not fail'),
    (error: unknown) => error,
  );
  if (!FabricError.is(failure)) throw failure;
  return failure;
}
