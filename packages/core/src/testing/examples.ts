import { type Envelope, type EnvelopeInput, parseEnvelope } from '../envelope.ts';
import { type Manifest, type ManifestInput, manifestSchema } from '../manifest.ts';
import { createTrace } from '../trace.ts';

/** A valid manifest to start from. */
export function exampleManifest(change: Partial<ManifestInput> = {}): Manifest {
  return manifestSchema.parse({
    agent_id: 'subject',
    endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/agent' },
    capabilities: [{ name: 'work', streaming: true }],
    trust_tier: 'org',
    ...change,
  });
}

/** A valid envelope for `task` to start from. */
export function exampleEnvelope(task: string, change: Partial<EnvelopeInput> = {}): Envelope {
  return parseEnvelope({
    trace: createTrace(),
    auth: { mode: 'none' },
    target: { agent_id: 'subject', capability: 'work' },
    input: { task },
    response: { stream: true },
    hop: { depth: 1, chain: ['subject/work'] },
    ...change,
  });
}
