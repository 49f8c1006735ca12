// What a caller gave, as the content blocks of a prompt. Text and links are always allowed; the rest
// needs a capability that the agent declared. Nothing is dropped: what has no place is BAD_INPUT.

import type { ContentBlock, PromptCapabilities } from '@agentclientprotocol/sdk';
import { type Attachment, type Capability, type Envelope, FabricError } from '@starloom/core';
import { toContextText, toPromptText } from '../upstream/prompt-text.ts';

type Input = Envelope['input'];

export function toPromptBlocks(
  input: Input,
  capability: Capability,
  capabilities: PromptCapabilities,
): ContentBlock[] {
  const { text, context } = toPromptText(input);
  const command = capability.tool?.startsWith('/') ? capability.tool : undefined;
  const words = [command, text].filter((part) => part !== undefined && part !== '').join(' ');
  const blocks: ContentBlock[] = words === '' ? [] : [{ type: 'text', text: words }];
  if (Object.keys(context).length > 0) blocks.push(toContext(context, capabilities));
  const given = input.attachments.map((each, at) => toBlock(each, at, capabilities));
  if (blocks.length + given.length > 0) return [...blocks, ...given];
  throw new FabricError('BAD_INPUT', 'The prompt is empty', {
    details: { reason: 'empty_prompt', sent: false, fix: 'say in "task" what the agent should do' },
  });
}

function toContext(
  context: Readonly<Record<string, unknown>>,
  { embeddedContext }: PromptCapabilities,
): ContentBlock {
  if (!embeddedContext) return { type: 'text', text: toContextText(context) };
  const text = JSON.stringify(context);
  const resource = { uri: 'starloom:context', mimeType: 'application/json', text };
  return { type: 'resource', resource };
}

function toBlock(
  attachment: Attachment,
  at: number,
  capabilities: PromptCapabilities,
): ContentBlock {
  const { media_type: mimeType, name = `attachment-${at + 1}`, data, text, uri } = attachment;
  const [kind] = mimeType.split('/');
  if (data !== undefined && kind === 'image' && capabilities.image) {
    return { type: 'image', mimeType, data };
  }
  if (data !== undefined && kind === 'audio' && capabilities.audio) {
    return { type: 'audio', mimeType, data };
  }
  const place = uri ?? `attachment:${encodeURIComponent(name)}`;
  if (text !== undefined && capabilities.embeddedContext) {
    return { type: 'resource', resource: { uri: place, mimeType, text } };
  }
  if (data !== undefined && capabilities.embeddedContext) {
    return { type: 'resource', resource: { uri: place, mimeType, blob: data } };
  }
  if (data === undefined && text === undefined && uri !== undefined) {
    return { type: 'resource_link', uri, name, mimeType };
  }
  throw new FabricError('BAD_INPUT', `The agent takes no attachment of type ${mimeType}`, {
    details: {
      reason: 'attachments_unsupported',
      attachment: name,
      sent: false,
      fix: 'give its address as "uri", or put it into the task',
    },
  });
}
