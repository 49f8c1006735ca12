import { secret } from '@starloom/config';
import type { Log } from '@starloom/core';
import type { IProvider, ProviderEvent } from '@starloom/sdk';
import { z } from 'zod';
import { httpUrl } from '../config/schemas.ts';

export interface ProviderHost {
  /** The folder of `agent.json`: packages and relative paths are found from here. */
  readonly folder: string;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A provider with its connections. It streams; the buffered answer is asked for as such. */
export interface OpenedProvider extends IProvider {
  stream: NonNullable<IProvider['stream']>;
  close(): Promise<void>;
}

/** The event; the last one also says how long the answer took since `started`. */
export function withLatency(event: ProviderEvent, started: number): ProviderEvent {
  if (event.type !== 'finish') return event;
  const latencyMs = Math.round(performance.now() - started);
  return { type: 'finish', metadata: { ...event.metadata, latencyMs } };
}

/** What may be said to any model about how it answers. */
const generationShape = {
  temperature: z.number().min(0).exactOptional(),
  max_tokens: z.int().min(1).exactOptional().describe('Longest answer, in tokens'),
  takes: z
    .array(z.enum(['image', 'audio']))
    .exactOptional()
    .describe('What the model takes beside words; editors offer only that'),
};

export const aiSdkSchema = z.strictObject({
  kind: z.literal('ai-sdk').describe('Any model of the AI SDK; its package must be installed'),
  package: z.string().min(1).describe('Such as @ai-sdk/openai, or a file that exports a model'),
  model: z.string().min(1).describe('As the vendor calls it'),
  api_key: secret().exactOptional().describe('env:NAME or file:PATH'),
  base_url: httpUrl.exactOptional().describe("Instead of the vendor's own address"),
  api: z.enum(['chat', 'responses']).exactOptional().describe('Where a vendor has several'),
  factory: z.string().exactOptional().describe('The export to call, where there are several'),
  settings: z.record(z.string(), z.unknown()).exactOptional().describe('More for the factory'),
  options: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .exactOptional()
    .describe('By vendor, with every call: its providerOptions'),
  ...generationShape,
});

export type AiSdkConfig = z.output<typeof aiSdkSchema>;

export const openaiCompatibleSchema = z.strictObject({
  kind: z.literal('openai-compatible').describe('Ollama, vLLM, llama.cpp and their like'),
  base_url: httpUrl.describe('Up to /v1: http://127.0.0.1:11434/v1'),
  model: z.string().min(1).describe('As the server calls it'),
  api_key: secret().exactOptional().describe('env:NAME or file:PATH; local servers need none'),
  ...generationShape,
});

export type OpenaiCompatibleConfig = z.output<typeof openaiCompatibleSchema>;
