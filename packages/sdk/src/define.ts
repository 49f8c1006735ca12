import { z } from 'zod';
import { foldEvents } from './fold-events.ts';
import type {
  IProvider,
  ITool,
  JsonSchema,
  Plugin,
  PluginHost,
  PluginParts,
  ToolContext,
  ToolOutput,
} from './interfaces.ts';

type ToolOptions = Pick<
  ITool,
  'name' | 'description' | 'command' | 'effect' | 'targets' | 'approval' | 'timeoutMs' | 'untrusted'
>;

/** A tool whose arguments are a zod schema: parsed before it runs, typed when it does. */
export function defineTool<Schema extends z.ZodType>(
  tool: ToolOptions & {
    parameters: Schema;
    execute(args: z.output<Schema>, context: ToolContext): Promise<ToolOutput> | ToolOutput;
  },
): ITool;
/** A tool whose arguments are a JSON Schema. */
export function defineTool<Args = Record<string, unknown>>(
  tool: ToolOptions & {
    parameters: JsonSchema;
    execute(args: Args, context: ToolContext): Promise<ToolOutput> | ToolOutput;
  },
): ITool;
export function defineTool(
  tool: ToolOptions & {
    parameters: z.ZodType | JsonSchema;
    execute(args: never, context: ToolContext): Promise<ToolOutput> | ToolOutput;
  },
): ITool {
  const { parameters, execute, ...options } = tool;
  if (!(parameters instanceof z.ZodType)) return { ...options, parameters, execute };
  const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: 'input' });
  return {
    ...options,
    parameters: schema,
    execute: (args, context) => execute(parameters.parse(args) as never, context),
  };
}

/** A provider that reads blocks, from its stream alone: the buffered answer is the stream, folded. */
export function defineProvider(provider: {
  name: string;
  stream: NonNullable<IProvider['stream']>;
}): IProvider & { stream: NonNullable<IProvider['stream']> } {
  return {
    name: provider.name,
    readsBlocks: true,
    stream: provider.stream,
    generate: async (prompt, context) =>
      foldEvents(await Array.fromAsync(provider.stream(prompt, context))),
  };
}

/** A plugin whose configuration is a zod schema. */
export function definePlugin<Schema extends z.ZodType>(plugin: {
  name: string;
  config: Schema;
  setup(config: z.output<Schema>, host: PluginHost): Promise<PluginParts> | PluginParts;
}): Plugin {
  const { name, config, setup } = plugin;
  return { name, setup: (given, host) => setup(config.parse(given ?? {}), host) };
}
