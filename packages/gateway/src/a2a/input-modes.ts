import type { Capability } from '@starloom/core';

const TEXT_MODES = ['text/plain', 'application/json'];

/** Media types that a capability takes and gives, from its modalities. */
export function modesOf({ modalities }: Pick<Capability, 'modalities'>): string[] {
  const modes = modalities.flatMap((modality) => {
    if (modality === 'text') return TEXT_MODES;
    if (modality.includes('/')) return modality;
    return modality === 'file' ? '*/*' : `${modality}/*`;
  });
  return [...new Set([...TEXT_MODES, ...modes])];
}

/** Whether one of the modes has a place for a media type; any text is as good as plain text. */
export function takes(modes: readonly string[], mediaType: string): boolean {
  const [type = ''] = mediaType.split(';', 1);
  const asked = type.trim().toLowerCase();
  if (asked.startsWith('text/') || asked.endsWith('+json')) return true;
  return modes.some((mode) => {
    if (mode === '*/*' || mode === asked) return true;
    return mode.endsWith('/*') && asked.startsWith(mode.slice(0, -1));
  });
}
