// What `endpoint.options` of an agent with `protocol: http` may hold, by profile.

import { z } from 'zod';
import { httpOptionsSchema } from './options.ts';
import { templateShape } from './template/options.ts';

export const httpAdapterOptionsSchema = z.discriminatedUnion('profile', [
  httpOptionsSchema.extend({
    profile: z.literal('envelope').default('envelope').describe('The contract of our own'),
  }),
  httpOptionsSchema.extend({ profile: z.literal('template'), ...templateShape }),
]);

export type HttpAdapterOptions = z.infer<typeof httpAdapterOptionsSchema>;
