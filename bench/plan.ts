import {
  type CallForm,
  capabilityCall,
  fabricCall,
  type HttpCall,
  upstreamCall,
} from './mcp-call.ts';

/** `starloom` calls the capability's own tool, `fabric_call` the same one through `fabric.call`. */
export const TARGETS = ['direct', 'bare', 'starloom', 'fabric_call'] as const;
/** Proxies of other projects, in front of the same upstream. */
export const PEERS = ['tbxark', 'npm_mcp_proxy', 'fastmcp'] as const;
export type PeerName = (typeof PEERS)[number];
export type TargetName = (typeof TARGETS)[number] | PeerName;
export const ALL_TARGETS: readonly TargetName[] = [...TARGETS, ...PEERS];

export function isPeer(name: TargetName): name is PeerName {
  return PEERS.some((peer) => peer === name);
}

export const CALL_OF_TARGET = {
  direct: upstreamCall,
  bare: upstreamCall,
  starloom: capabilityCall,
  fabric_call: fabricCall,
  tbxark: olderCall,
  npm_mcp_proxy: olderCall,
  fastmcp: olderCall,
} as const satisfies Record<TargetName, (form: CallForm) => HttpCall>;

export interface Cell extends CallForm {
  readonly name: string;
  readonly connections: number;
  /** With the session of an older client; proxies that have none get the same call without. */
  readonly session?: true;
}

/** Throughput and latency. */
export const LOAD_CELLS = [
  { name: 'unary.c16', kind: 'unary', connections: 16 },
  { name: 'unary.c64', kind: 'unary', connections: 64 },
  { name: 'stream.c16', kind: 'stream', connections: 16 },
  { name: 'unary.c16.2025', kind: 'unary', connections: 16, revision: '2025' },
  { name: 'unary.c64.2025', kind: 'unary', connections: 64, revision: '2025' },
  {
    name: 'unary.c16.2025_session',
    kind: 'unary',
    connections: 16,
    revision: '2025',
    session: true,
  },
  { name: 'stream.c16.2025', kind: 'stream', connections: 16, revision: '2025' },
] as const satisfies readonly Cell[];

/** Time to the first event, where nobody queues. */
export const FIRST_EVENT_CELL = {
  name: 'stream.c1',
  kind: 'stream',
  connections: 1,
} as const satisfies Cell;

export const CELLS: readonly Cell[] = [...LOAD_CELLS, FIRST_EVENT_CELL];

/** Peers are compared in the older revision, which they all speak. */
function olderCall({ kind }: CallForm): HttpCall {
  return upstreamCall({ kind, revision: '2025' });
}
