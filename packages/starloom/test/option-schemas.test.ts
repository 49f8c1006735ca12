import { join } from 'node:path';
import { OAUTH_SECRETS } from '@starloom/adapters';
import { readAgentsFile } from '@starloom/registry';
import { describe, expect, it } from 'vitest';
import { OPTION_SCHEMAS } from '../src/option-schemas.ts';
import { scratch } from './run-starloom.ts';

async function readWith(name: string, secret: string) {
  const options = { oauth: { client_id: 'me', [name]: secret } };
  const endpoint = { transport: 'http', uri: 'https://a.example/mcp', options };
  await using place = await scratch({
    'agents.yaml': JSON.stringify([{ agent_id: 'a', endpoint }]),
  });
  return await readAgentsFile(join(place.folder, 'agents.yaml'), { optionSchemas: OPTION_SCHEMAS });
}

describe('the options of an agent in a file', () => {
  it.each(OAUTH_SECRETS)('name the %s of a client, and do not hold it', async (name) => {
    expect(await readWith(name, 'env:CLIENT_SECRET')).toHaveLength(1);
    const error = await readWith(name, 'a-literal-secret').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'BAD_INPUT' });
    expect(String(error) + JSON.stringify(error)).toContain(`oauth.${name}`);
    expect(String(error) + JSON.stringify(error)).not.toContain('a-literal-secret');
  });
});
