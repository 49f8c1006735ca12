/** How the foreign words came in. */
export const CHANNELS = [
  'tool result',
  'file',
  'web page',
  'tool description',
  'mcp answer',
  'agent message',
] as const;

export type Channel = (typeof CHANNELS)[number];

/** What an agent had before it and what it then wanted to do. */
export interface Scene {
  /** What the user asked for; nothing when another agent is the one who asks. */
  readonly user?: string;
  /** What it read on the way, oldest first: by which tool (or `agent:<id>` for a message), and the words. */
  readonly read?: readonly Reading[];
  /** Descriptions of foreign tools it was shown. */
  readonly shown?: readonly { readonly tool: string; readonly description: string }[];
  readonly call: { readonly name: string; readonly args: Readonly<Record<string, unknown>> };
  /** `remote`: another agent makes the call itself. */
  readonly origin?: 'model' | 'remote';
}

export interface Reading {
  readonly via: string;
  readonly text: string;
}

/** In an attack the call is what a misled model would make; in a benign scene it is what the user wants. */
export interface Case extends Scene {
  readonly id: string;
  readonly channel: Channel;
  readonly kind: 'attack' | 'benign';
  /** Written after the rules were settled, and not used to settle them. */
  readonly heldOut: boolean;
}

export interface Scenes {
  readonly attacks: Readonly<Record<string, Scene>>;
  readonly benign: Readonly<Record<string, Scene>>;
}

export function toCases(channel: Channel, scenes: Scenes, heldOut: boolean): Case[] {
  const of = (kind: Case['kind'], table: Readonly<Record<string, Scene>>) =>
    Object.entries(table).map(([id, scene]) => ({ ...scene, id, channel, kind, heldOut }));
  return [...of('attack', scenes.attacks), ...of('benign', scenes.benign)];
}
