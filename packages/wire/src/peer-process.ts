// Which program of ours is at the other end of a connection from this machine. Only Linux shows it: the
// tables of connections name the inode of that end, and each process shows the inodes that it holds.

import { createReadStream, readlinkSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { isLoopback } from '@starloom/core';
import ipaddr from 'ipaddr.js';
import { parseAddress } from './address-range.ts';
import { findProcesses, HAS_PROC } from './process-group.ts';
import { reaper } from './reaper.ts';

/** The two ends of a connection, as a socket has them. */
export type Ends = Pick<Socket, 'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'>;

type AgentId = string | undefined;
type Table = 'tcp' | 'tcp6';

/** No program needs as many files; a program that opens more is not searched further. */
const MAX_FILES = 10_000;

/** The other end does not change while a connection lasts. */
const known = new WeakMap<Ends, Promise<AgentId>>();
let waiting = new Map<Ends, (agentId: AgentId) => void>();
let isLooking = false;

/** The agent of this process whose program made the connection; it is found out once. */
export function agentAtOtherEnd(connection: Ends): Promise<AgentId> | undefined {
  const before = known.get(connection);
  if (before || !HAS_PROC || !isFromHere(connection)) return before;
  const { promise, resolve } = Promise.withResolvers<AgentId>();
  known.set(connection, promise);
  waiting.set(connection, resolve);
  if (!isLooking) void lookForAll();
  return promise;
}

function isFromHere({ localAddress = '', remoteAddress = '' }: Ends): boolean {
  if (remoteAddress === '') return false;
  return remoteAddress === localAddress || [localAddress, remoteAddress].some(isLoopback);
}

/** One look serves all requests that wait. Those that come during it wait for the next: it may read too early. */
async function lookForAll(): Promise<void> {
  isLooking = true;
  while (waiting.size > 0) {
    const asked = waiting;
    waiting = new Map();
    const agents = await look([...asked.keys()]).catch(() => undefined);
    for (const [ends, answer] of asked) {
      // This process may be out of files for now.
      if (!agents) known.delete(ends);
      answer(agents?.get(ends));
    }
  }
  isLooking = false;
}

async function look(asked: readonly Ends[]): Promise<Map<Ends, AgentId>> {
  const byInode = await findInodes('tcp', asked);
  const found = new Set(byInode.values());
  const left = asked.filter((ends) => !found.has(ends));
  for (const [inode, ends] of await findInodes('tcp6', left)) byInode.set(inode, ends);
  const agents = new Map<Ends, AgentId>();
  if (byInode.size === 0) return agents;
  for (const pid of await findProcesses((each) => reaper.agentOf(each) !== undefined)) {
    for await (const inode of socketsOf(pid)) {
      const ends = byInode.get(inode);
      if (ends) agents.set(ends, reaper.agentOf(pid));
    }
  }
  return agents;
}

/** By inode: connections whose other end is in the table. The kernel is slow to write it, so a thread reads it. */
async function findInodes(table: Table, asked: readonly Ends[]): Promise<Map<string, Ends>> {
  const wanted = new Map(asked.flatMap((ends) => toRow(ends, table).map((row) => [row, ends])));
  const inodes = new Map<string, Ends>();
  const [{ length } = ''] = wanted.keys();
  if (length === 0) return inodes;
  let rest = '';
  try {
    for await (const chunk of createReadStream(`/proc/net/${table}`, 'latin1')) {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const start = line.indexOf(': ') + 2;
        const ends = wanted.get(line.slice(start, start + length));
        const inode = ends && line.trim().split(/\s+/)[INODE];
        if (ends && inode) inodes.set(inode, ends);
      }
      if (inodes.size === wanted.size) break;
    }
  } catch (error) {
    // A kernel without IPv6 has no table of it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return inodes;
}

const INODE = 9;

/** How the table shows the other end, whose own address comes first. */
function toRow({ remoteAddress, remotePort, localAddress, localPort }: Ends, table: Table) {
  const from = toHex(remoteAddress, remotePort, table);
  const to = toHex(localAddress, localPort, table);
  return from && to ? [`${from} ${to}`] : [];
}

/** The kernel prints each word of four bytes as a number. Programs may use IPv6 to reach IPv4. */
function toHex(text = '', port = 0, table: Table): string | undefined {
  const address = parseAddress(text.replace(/^::ffff:(?=\d+\.)/, ''));
  const isFour = address instanceof ipaddr.IPv4;
  if (!address || (table === 'tcp' && !isFour)) return undefined;
  const shown = isFour && table === 'tcp6' ? address.toIPv4MappedAddress() : address;
  const bytes = Buffer.from(shown.toByteArray());
  const words = endianness() === 'LE' ? bytes.swap32() : bytes;
  return `${words.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

/** Nothing for a process that has ended, or belongs to another user. */
async function* socketsOf(pid: number): AsyncGenerator<string> {
  const folder = `/proc/${pid}/fd`;
  let files = 0;
  try {
    for await (const { name } of await opendir(folder, { bufferSize: 256 })) {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`)) ?? [];
      if (inode !== undefined) yield inode;
      files += 1;
      if (files === MAX_FILES) return;
    }
  } catch {
    // It ended, or closed the file, while it was read.
  }
}
