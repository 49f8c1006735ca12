import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { MEMORY_ENVIRONMENT } from '../prove/abuse/gateway-probe.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const instructions = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '');
const ignored = read('.dockerignore').split('\n');

it('copies only files that exist and that the build context includes', () => {
  const sources = linesOf('COPY')
    .filter((line) => !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));
  expect(sources.length).toBeGreaterThan(0);
  expect(sources.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(sources.filter((path) => !ignored.includes(`!${path}`))).toEqual([]);
  expect(ignored).toContain('*');
});

it('starts the launcher of the command line, which needs its build and no source', () => {
  const [entry = ''] = linesOf('ENTRYPOINT');
  const path = /\/app\/([^"]+)/.exec(entry)?.[1] ?? '';
  expect(existsSync(join(ROOT, path)), path).toBe(true);
  expect(linesOf('RUN').join('\n')).toContain('packages/*/src');
});

it('runs as a user without rights, and says whether it is alive', () => {
  const last = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM')));
  expect(last.filter((line) => line.startsWith('USER'))).toEqual(['USER 1000:1000']);
  expect(last.filter((line) => line.startsWith('HEALTHCHECK')).join()).toContain('/livez');
});

it('gives memory back and collects garbage as the proof of abuse expects it, as the unit of systemd does', () => {
  const settings = linesOf('ENV').join(' ').replaceAll('"', '');
  const unit = read('deploy/systemd/starloom.service').replaceAll('"', '');
  for (const [name, value] of Object.entries(MEMORY_ENVIRONMENT)) {
    expect(settings).toContain(`${name}=${value}`);
    expect(unit).toContain(`${name}=${value}`);
  }
});

it('holds no secret', () => {
  const settings = [...linesOf('ENV'), ...linesOf('ARG')].join('\n');
  expect(settings).not.toMatch(/key|secret|token|password/i);
  expect(ignored).toContain('**/.env*');
});

function linesOf(instruction: string): string[] {
  return instructions.filter((line) => line.startsWith(`${instruction} `));
}

function read(name: string): string {
  return readFileSync(join(ROOT, name), 'utf8');
}
