import { Database } from '@starloom/wire/postgres';

export async function emptyDatabase(serverUrl: string): Promise<string> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  const server = await openDatabase(serverUrl);
  await server.query(`CREATE DATABASE ${name}`);
  await server.close();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** For a look into the tables; the caller closes it. */
export async function openDatabase(url: string): Promise<Database> {
  return await Database.open({
    url,
    what: 'test database',
    application: 'test',
    maxConnections: 2,
    onError: () => {},
  });
}
