import { FabricError, type Manifest, manifestSchema } from '@starloom/core';

/** A valid manifest with its defaults, or BAD_INPUT with every problem. */
export function parseManifest(value: unknown): Manifest {
  const parsed = manifestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => ({ path, message }));
  throw new FabricError('BAD_INPUT', 'Not a valid manifest', {
    cause: parsed.error,
    details: { reason: 'manifest', problems, fix: 'correct these fields' },
  });
}
