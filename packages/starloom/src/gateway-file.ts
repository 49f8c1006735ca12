// `gateway.json` in the state folder: what the gateway that runs here reads its agents from, so that
// `agents add` in another folder finds the file. It says nothing once that gateway is gone: who reads
// it asks the gateway first.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeOwnFile } from './client-file.ts';

const gatewaySchema = z.object({
  url: z.url(),
  pid: z.int(),
  /** Absolute; absent when the agents are not in a file. */
  agents_file: z.string().optional(),
  /** Whether sample agents run beside those of the file. */
  samples: z.boolean(),
});

export type GatewayFile = z.infer<typeof gatewaySchema>;

const NAME = 'gateway.json';

export async function readGatewayFile(folder: string): Promise<GatewayFile | undefined> {
  try {
    return gatewaySchema.safeParse(JSON.parse(await readFile(join(folder, NAME), 'utf8'))).data;
  } catch {
    return undefined;
  }
}

export async function writeGatewayFile(folder: string, gateway: GatewayFile): Promise<void> {
  await writeOwnFile(folder, NAME, gateway);
}
