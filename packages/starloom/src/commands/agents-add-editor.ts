// The manifest of an agent made for editors, from the table of those that are known by name.

import { resolve } from 'node:path';
import { EDITOR_AGENT_PRESETS, type EditorAgentPreset } from '@starloom/adapters';
import { closestWord, FabricError, type Manifest } from '@starloom/core';
import { toUsageError } from '../report-error.ts';
import type { AddOptions } from './agents.ts';
import { type ServerPlace, toServerManifest } from './agents-add-server.ts';

export function toEditorManifest(
  preset: string,
  name: string | undefined,
  options: AddOptions,
  { cwd, folder }: ServerPlace,
): { readonly manifest: Manifest; readonly login: string } {
  if (options.header !== undefined) throw toUsageError('--header goes with a URL');
  if (options.protocol !== undefined) throw toUsageError('--acp says itself what the agent speaks');
  const { command, args, keys, login } = findPreset(preset);
  const isElsewhere = resolve(cwd) !== resolve(folder);
  const settings = {
    ...(keys.length > 0 && { inherit_env: [...keys] }),
    ...(isElsewhere && { cwd: resolve(cwd) }),
  };
  const manifest = toServerManifest(name ?? options.name ?? preset, options, {
    transport: 'stdio',
    protocol: 'agent-client-protocol',
    command,
    args: [...args],
    ...(options.env && { env: options.env }),
    ...(Object.keys(settings).length > 0 && { options: settings }),
  });
  return { manifest, login };
}

function findPreset(name: string): EditorAgentPreset {
  const table: Readonly<Record<string, EditorAgentPreset>> = EDITOR_AGENT_PRESETS;
  const preset = Object.hasOwn(table, name) ? table[name] : undefined;
  if (preset) return preset;
  const known = Object.keys(table);
  const meant = closestWord(name, known);
  const other = `starloom agents add ${name} --protocol agent-client-protocol -- <command>`;
  throw new FabricError('BAD_INPUT', `No editor agent is known as "${name}"`, {
    details: {
      reason: 'unknown_editor_agent',
      known,
      fix: meant === undefined ? `write "${other}"` : `write --acp ${meant}`,
    },
  });
}
