import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { RedirectListener } from '../src/commands/agents-login.ts';

describe('the address to which a login returns', () => {
  const ask = (url: string, headers: Record<string, string> = {}) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(url, { headers, agent: false }, (response) => {
        resolve(response.resume().statusCode);
      }).on('error', reject);
    });

  it('takes one answer with each parameter once, under its own address alone', async () => {
    await using listener = new RedirectListener();
    const url = await listener.listen(0);
    const answered = listener.answer((params) => params.get('state') === 's', 20_000);
    const { port } = new URL(url);
    for (const host of ['evil.example', `evil.example:${port}`, `localhost:${port}`]) {
      expect(await ask(`${url}?state=s&code=c`, { host })).toBe(404);
    }
    expect(await ask(`${url}?state=s&code=c&code=d`)).toBe(400);
    expect(await ask(`${url}?state=s&state=t&code=c`)).toBe(400);
    expect(await ask(`${url}?state=other&code=c`)).toBe(400);
    const status = ask(`${url}?state=s&code=c`);
    const { params, reply } = await answered;
    expect(params.get('code')).toBe('c');
    await reply(200, 'done');
    expect(await status).toBe(200);
  });
});
