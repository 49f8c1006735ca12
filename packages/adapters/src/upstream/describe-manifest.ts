import type { AgentDescription, Manifest } from '@starloom/core';

/** For agents whose contract has no question for it: what the manifest says of them. */
export function describeManifest(manifest: Manifest): AgentDescription {
  const { version, description, capabilities = [] } = manifest;
  return { version, capabilities, ...(description === undefined ? {} : { description }) };
}
