import type { Block, ContentSegment, ITool, ToolResult, Trust } from '@starloom/sdk';
import type { Labeller } from '../core/seams.ts';
import { readForeign } from './grounds.ts';
import { combineLabels, createBlock, lowestTrust } from './labels.ts';
import { isForeign, sourceOf } from './tool-source.ts';

export interface TrustLabeller extends Labeller {
  /** Without `userTrust`: as the agent is configured. */
  ofUser(segments: readonly ContentSegment[], userTrust?: Trust): Block;
  /** With `seen`, the result of a tool that is trusted is still no better than what it was made of. */
  ofTool(tool: ITool, result: ToolResult, seen?: readonly Block[]): Block;
  /** A message of another agent or of an MCP client; `source` such as `agent:<id>`. */
  ofRemote(segments: readonly ContentSegment[], source: string): Block;
}

/** Labels every block with who wrote it and whether it may instruct. */
export function createLabeller(options: { readonly userTrust?: Trust } = {}): TrustLabeller {
  return {
    ofSystem: (text) =>
      createBlock({
        role: 'system',
        segments: [{ type: 'text', text }],
        trust: 'trusted',
        type: 'instruction',
        source: 'config',
      }),

    ofUser: (segments, userTrust = options.userTrust ?? 'vetted') =>
      createBlock({
        role: 'user',
        segments,
        trust: userTrust,
        type: userTrust === 'untrusted' ? 'data' : 'instruction',
        source: 'user',
      }),

    ofRemote: (segments, source) =>
      createScannedBlock({ role: 'user', segments, trust: 'untrusted', type: 'data', source }),

    ofModel(response, seen) {
      const label = combineLabels(seen);
      return createBlock({
        role: 'assistant',
        segments: response.segments,
        ...label,
        trust: lowestTrust(['vetted', label.trust]),
        type: 'data',
        source: `model:${response.metadata?.model ?? 'unnamed'}`,
      });
    },

    ofTool(tool, result, seen = []) {
      const block = {
        role: 'tool',
        segments: [{ type: 'tool_result', toolResult: result }],
        type: 'data',
        source: sourceOf(tool),
      } as const;
      if (tool.untrusted !== false || isForeign(tool)) {
        return createScannedBlock({ ...block, trust: 'untrusted' });
      }
      const label = combineLabels(seen);
      return createScannedBlock({
        ...block,
        ...label,
        trust: lowestTrust(['vetted', label.trust]),
      });
    },

    // Vetted as the core's own words, but data: they may quote a name that the model made up.
    ofObservation: (text) =>
      createBlock({
        role: 'system',
        segments: [{ type: 'text', text }],
        trust: 'vetted',
        type: 'data',
        source: 'core',
      }),
  };
}

/** Read now, while no verdict waits for it. */
function createScannedBlock(block: Parameters<typeof createBlock>[0]): Block {
  const created = createBlock(block);
  readForeign(created);
  return created;
}
