import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { buildConsole } from '../../../scripts/build-console.ts';
import { PAGE_FOLDER } from '../src/index.ts';

const KIB = 1024;

describe('the built page', () => {
  it('is small: 60 KiB of script for the first screen, 150 KiB in all', async () => {
    const { first, all } = await buildConsole();
    expect(first.gzip).toBeLessThan(60 * KIB);
    expect(all.gzip).toBeLessThan(150 * KIB);
    expect(first.brotli).toBeLessThan(first.gzip);
  });

  it('has no inline script or style, and names no other host', () => {
    const names = readdirSync(PAGE_FOLDER);
    const page = readFileSync(new URL('index.html', PAGE_FOLDER), 'utf8');
    expect(page).not.toMatch(/<style|style=|onload=|<script>/);
    const code = names.filter((name) => /\.(js|css|html)$/.test(name));
    const hosts = code.flatMap((name) => {
      const text = readFileSync(new URL(name, PAGE_FOLDER), 'utf8');
      return [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([host]) => host);
    });
    // Names of XML languages, an example for people, and a link in a message of a library.
    const known = /w3\.org|node-1\.internal|preactjs\.com/;
    expect(hosts.filter((host) => !known.test(host))).toEqual([]);
  });

  it('has a compressed twin of every file, and licences of what is in it', () => {
    const names = readdirSync(PAGE_FOLDER);
    const plain = names.filter((name) => !/\.(br|gz)$/.test(name));
    for (const name of plain)
      expect(names).toEqual(expect.arrayContaining([`${name}.br`, `${name}.gz`]));
    const licences = readFileSync(new URL('licences.txt', PAGE_FOLDER), 'utf8');
    for (const name of ['preact', '@preact/signals', 'uplot', '@dagrejs/dagre']) {
      expect(licences).toContain(`${name} `);
    }
  });

  it('never writes markup: what agents say can only be text', () => {
    const folder = new URL('../src/', import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
      const text = readFileSync(new URL(file, folder), 'utf8');
      expect(text, file).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/,
      );
    }
  });
});
