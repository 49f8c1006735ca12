import { expect } from 'vitest';
import { foldEvents } from '../../fold-events.ts';
import type {
  Block,
  ContentSegment,
  IAgentContext,
  IProvider,
  ITool,
  ProviderResponse,
} from '../../interfaces.ts';
import type { FakeRequest, FakeScript, FakeService } from '../fake-script.ts';

/** A provider whose model says what the script says. */
export interface ProviderSubject {
  readonly provider: IProvider;
  /** The service behind it; absent for a provider without one. */
  readonly model?: FakeService;
  /** Frees what `open` made, the model included. */
  close(): Promise<void>;
}

export type OpenSubject = (script: FakeScript) => Promise<ProviderSubject>;

/** What a model API has no words for; everything is expected unless it says otherwise. */
export interface ProviderFeatures {
  /** A call may stand before words. */
  readonly interleaved?: boolean;
  readonly reasoning?: boolean;
  /** What comes with reasoning must come back with it. */
  readonly signatures?: boolean;
  /** What the model can show; none by default. */
  readonly media?: readonly ('image' | 'audio' | 'video')[];
  /** Calls may come without an id, and nothing below the provider creates one. */
  readonly missingIds?: boolean;
  /** Arguments come as text, which may be broken JSON. */
  readonly argumentText?: boolean;
  /** A service is asked: it can fail, be watched and be left. */
  readonly service?: boolean;
}

export const ALL_FEATURES: Required<ProviderFeatures> = {
  interleaved: true,
  reasoning: true,
  signatures: true,
  media: [],
  missingIds: true,
  argumentText: true,
  service: true,
};

/** Closed at the end of the test, however it ends. */
export async function openWorld(open: OpenSubject, script: FakeScript) {
  const subject = await open(script);
  return { ...subject, [Symbol.asyncDispose]: () => subject.close() };
}

export type Mode = 'buffered' | 'streaming';
export const MODES: readonly Mode[] = ['buffered', 'streaming'];

export async function ask(
  { provider }: Pick<ProviderSubject, 'provider'>,
  mode: Mode,
  { prompt = 'Hello', ...context }: Partial<IAgentContext> & { prompt?: string } = {},
): Promise<ProviderResponse> {
  const whole: IAgentContext = { tools: toolMap(READ_FILE, GET_WEATHER), ...context };
  if (mode === 'buffered') return provider.generate(prompt, whole);
  if (provider.stream === undefined) return expect.fail('the provider does not stream');
  return foldEvents(await Array.fromAsync(provider.stream(prompt, whole)));
}

/** What asking fails with. */
export async function failure(...args: Parameters<typeof ask>): Promise<unknown> {
  const answer = await ask(...args).then(
    (response) => response,
    (error: unknown) => ({ error }),
  );
  return 'error' in answer ? answer.error : expect.fail('there was an answer');
}

export function lastRequest({ model }: ProviderSubject): FakeRequest {
  return model?.requests.at(-1) ?? expect.fail('nothing was asked');
}

/** Segments without what is a provider's own. */
export function plain({ segments }: ProviderResponse): ContentSegment[] {
  return segments.map(({ providerMetadata: _, ...segment }) => segment);
}

export function block(
  given: Pick<Block, 'role' | 'segments'> & Partial<Omit<Block, 'role' | 'segments'>>,
): Block {
  return { id: 'block-1', trust: 'trusted', type: 'instruction', source: 'user', ...given };
}

export function toolMap(...tools: readonly ITool[]): Map<string, ITool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

export const READ_FILE: ITool = {
  name: 'fs:read_file',
  description: 'Reads a file',
  parameters: {
    type: 'object',
    properties: { path: { type: 'string', description: 'Relative path' } },
    required: ['path'],
    additionalProperties: false,
  },
  execute: () => 'never called here',
};

export const GET_WEATHER: ITool = {
  name: 'get_weather',
  description: 'Tells the weather',
  parameters: { type: 'object', properties: { location: { type: 'string' } } },
  execute: () => 'never called here',
};

/** A PNG of one pixel. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
