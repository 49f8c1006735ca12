import { agentMessages } from './agent-messages.ts';
import { type Case, CHANNELS, toCases } from './case.ts';
import { files } from './files.ts';
import { harder } from './harder.ts';
import { heldOut } from './held-out.ts';
import { mcpAnswers } from './mcp-answers.ts';
import { toolDescriptions } from './tool-descriptions.ts';
import { toolResults } from './tool-results.ts';
import { webPages } from './web-pages.ts';

export const CORPUS: readonly Case[] = [
  ...toCases('tool result', toolResults, false),
  ...toCases('file', files, false),
  ...toCases('web page', webPages, false),
  ...toCases('tool description', toolDescriptions, false),
  ...toCases('mcp answer', mcpAnswers, false),
  ...toCases('agent message', agentMessages, false),
  ...CHANNELS.flatMap((channel) => toCases(channel, harder[channel], false)),
  ...CHANNELS.flatMap((channel) => toCases(channel, heldOut[channel], true)),
];
