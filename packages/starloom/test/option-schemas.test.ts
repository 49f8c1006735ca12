import { join } from 'node:path';
import { readAgentsFile } from '@starloom/registry';
import { describe, expect, it } from 'vitest';
import { OPTION_SCHEMAS } from '../src/option-schemas.ts';
import { scratch } from './run-starloom.ts';

async function readWith(client_secret: string) {
  const options = { oauth: { client_id: 'me', client_secret } };
  const endpoint = { transport: 'http', uri: 'https://a.example/mcp', options };
  await using place = await scratch({
    'agents.yaml': JSON.stringify([{ agent_id: 'a', endpoint }]),
  });
  return await readAgentsFile(join(place.folder, 'agents.yaml'), { optionSchemas: OPTION_SCHEMAS });
}

describe('the options of an agent in a file', () => {
  it('name the secret of a client, and do not hold it', async () => {
    expect(await readWith('env:CLIENT_SECRET')).toHaveLength(1);
    const error = await readWith('a-literal-secret').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'BAD_INPUT' });
    expect(String(error) + JSON.stringify(error)).toContain('oauth.client_secret');
    expect(String(error) + JSON.stringify(error)).not.toContain('a-literal-secret');
  });
});
