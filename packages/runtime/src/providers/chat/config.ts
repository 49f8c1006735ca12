import { secret } from '@starloom/config';
import { z } from 'zod';
import { generationShape } from '../generation.ts';

export const openaiCompatibleSchema = z.strictObject({
  kind: z.literal('openai-compatible').describe('Ollama, vLLM, llama.cpp and their like'),
  base_url: z.url({ protocol: /^https?$/ }).describe('Up to /v1: http://127.0.0.1:11434/v1'),
  model: z.string().min(1).describe('As the server calls it'),
  api_key: secret().exactOptional().describe('env:NAME or file:PATH; local servers need none'),
  ...generationShape,
});

export type OpenaiCompatibleConfig = z.output<typeof openaiCompatibleSchema>;
