import { definePlugin, defineTool } from '@starloom/sdk';
import { createAddressGuard } from '@starloom/wire';
import { z } from 'zod';
import { HttpCaller } from './http-caller.ts';

const httpConfigSchema = z.strictObject({
  allow: z
    .array(z.string().min(1))
    .default([])
    .describe('Hosts, addresses and ranges that may be called though they are not public'),
  timeout_ms: z.int().positive().default(30_000),
  max_bytes: z.int().positive().max(67_108_864).default(1_048_576).describe('Of one answer'),
  max_redirects: z.int().min(0).max(10).default(5),
});

const headers = z
  .record(z.string().regex(/^[A-Za-z0-9-]+$/, 'expected the name of a header'), z.string())
  .default({});

/** The web, as far as it is public. */
export default definePlugin({
  name: 'http',
  config: httpConfigSchema,
  setup({ allow, timeout_ms, max_bytes, max_redirects }) {
    const caller = new HttpCaller({
      guard: createAddressGuard({ allow }),
      timeoutMs: timeout_ms,
      maxBytes: max_bytes,
      maxRedirects: max_redirects,
    });
    const get = defineTool({
      name: 'http:get',
      description: 'Fetches a page or document from the public web, as text.',
      command: 'get',
      effect: 'read',
      targets: ['url'],
      parameters: z.strictObject({ url: z.string().max(8_192), headers }),
      execute: (args, { signal }) => caller.call({ method: 'GET', ...args }, signal),
    });
    const request = defineTool({
      name: 'http:request',
      description: 'Sends an HTTP request to the public web and shows the answer as text.',
      effect: 'act',
      targets: ['url'],
      parameters: z.strictObject({
        method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
        url: z.string().max(8_192),
        headers,
        body: z.string().optional(),
      }),
      execute: (args, { signal }) => caller.call(args, signal),
    });
    return { tools: [get, request], close: () => caller.close() };
  },
});
