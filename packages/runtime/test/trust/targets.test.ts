import { describe, expect, it } from 'vitest';
import { effectOf } from '../../src/trust/effect.ts';
import { findSecrets, isSensitivePath } from '../../src/trust/secrets.ts';
import { partsOf } from '../../src/trust/targets.ts';
import { mcpTool, tool } from './world.ts';

describe('the effect of a tool', () => {
  it.each([
    ['fs:read_file', 'read'],
    ['fs:write_file', 'act'],
    ['shop:get_order', 'read'],
    ['shop:get_or_create', 'act'],
    ['files:search_and_replace', 'act'],
    ['logs:wipe_all_logs_info', 'act'],
    ['x:frobnicate', 'act'],
    ['x:frobnicate_list', 'act'],
    ['slack:slack_list_channels', 'read'],
    ['google:GmailSearchEmails', 'read'],
    ['google:GmailSendEmail', 'act'],
    ['home:open_garage_door', 'act'],
    ['bank:BankManagerPayBill', 'act'],
    ['x:status_update', 'act'],
    ['x:history_clear', 'act'],
    ['x:time_tracker_start', 'act'],
    ['x:get_update_status', 'read'],
    ['x:status', 'read'],
    ['hotel:check_in', 'act'],
    ['hotel:check_availability', 'read'],
  ])('%s: %s by its name', (name, effect) => {
    expect(effectOf(mcpTool(name))).toBe(effect);
  });

  it('is what the operator or the plugin says', () => {
    expect(effectOf(tool('x:frobnicate', { effect: 'read' }))).toBe('read');
    expect(effectOf(tool('x:get', { effect: 'act' }))).toBe('act');
  });

  it('of a reader is an act when its statement changes data', () => {
    const query = mcpTool('db:query');
    expect(effectOf(query, { sql: 'select count(*) from deleted_rows' })).toBe('read');
    expect(effectOf(query, { sql: 'DELETE FROM reviews' })).toBe('act');
    expect(effectOf(query, { query: 'how to create a playlist' })).toBe('read');
    const search = tool('fs:search', { effect: 'read' });
    expect(effectOf(search, { text: 'DELETE FROM reviews' })).toBe('read');
  });
});

describe('the targets of a call', () => {
  const targets = (args: unknown, options = {}) =>
    Object.fromEntries(
      partsOf(tool('x:act', options), args).targets.map(({ argument, kind }) => [argument, kind]),
    );

  it('are destinations, objects and amounts, by name and shape', () => {
    expect(
      targets({
        recipients: ['a@b.example'],
        webhook_url: 'https://b.example',
        channel: 'general',
        path: 'a.txt',
        message_id: '7',
        amount: 5,
        command: 'ls',
        whatever: 'x',
        site: 'www.b.example',
        attachments: [{ id: '3' }],
      }),
    ).toEqual({
      recipients: 'destination',
      webhook_url: 'destination',
      channel: 'destination',
      path: 'object',
      message_id: 'object',
      amount: 'amount',
      command: 'object',
      whatever: 'object',
      site: 'destination',
      'attachments.id': 'object',
    });
  });

  it('are not content, dates, booleans, empty values or choices', () => {
    const schema = {
      properties: { permission: { enum: ['r', 'rw'] }, level: { $ref: '#/$defs/L' } },
    };
    const parameters = { type: 'object', ...schema, $defs: { L: { enum: ['low', 'high'] } } };
    expect(
      targets(
        {
          body: 'mail eve@evil.example',
          title: 'T',
          email_body: 'x',
          start_time: '2024-05-01 10:00',
          whatever: '2024-05-01',
          recurring: true,
          cc: [],
          note: '',
          permission: 'rw',
          level: 'high',
        },
        { parameters },
      ),
    ).toEqual({});
  });

  it('are those that the tool names, where it names some', () => {
    const args = { room: 'blue', speed: 'fast', text: 'hi' };
    expect(targets(args, { targets: ['room'] })).toEqual({ room: 'destination' });
  });
});

describe('secrets and where they are kept', () => {
  it.each([
    '-----BEGIN OPENSSH PRIVATE KEY-----',
    'AKIAIOSFODNN7EXAMPLE',
    'DB_PASSWORD=correct-horse',
    '"api_key": "7f3b9c0d1e2a"',
    'postgres://app:hunter22@db/prod',
  ])('sees one in %j', (text) => {
    expect(findSecrets(text)).not.toEqual([]);
  });

  it.each([
    'the token count is 5',
    'password reset page',
    'secret santa: rules',
    'https://a.example/b',
  ])('sees none in %j', (text) => {
    expect(findSecrets(text)).toEqual([]);
  });

  it.each([
    '~/.ssh/id_ed25519',
    'C:\\Users\\dev\\.ssh\\id_rsa',
    '.env',
    'app/.env.production',
    'HEAD~3:.env',
    'a/./../.aws//credentials',
    'file:///etc/shadow',
    'config/master.key',
    'keys/deploy.pem',
    'secrets.yaml',
  ])('%s is a place of credentials', (path) => {
    expect(isSensitivePath(path)).toBe(true);
  });

  it.each([
    '.env.example',
    'keys/deploy.pub',
    'certs/ca.pem',
    'src/secrets/index.ts',
    'docs/secrets.md',
    'secrets',
    'we eat cookies',
  ])('%s is none', (path) => {
    expect(isSensitivePath(path)).toBe(false);
  });
});

describe('what poses as something else', () => {
  const targets = (args: unknown) =>
    partsOf(tool('x:act'), args).targets.map(({ kind, value }) => `${kind} ${value}`);

  it('an address or URL is a destination under any name but content', () => {
    expect(targets({ mode: 'https://evil.example', start_date: 'eve@evil.example' })).toEqual([
      'destination https://evil.example',
      'destination eve@evil.example',
    ]);
  });

  it('a list in one text is several addresses, and the one in brackets counts', () => {
    expect(targets({ to: 'Ann <ann@a.example>; ann@a.example <eve@evil.example>' })).toEqual([
      'destination ann@a.example',
      'destination eve@evil.example',
    ]);
  });

  it('a long command stays a target', () => {
    expect(targets({ command: `rm -r ${'x'.repeat(5000)}` })).toHaveLength(1);
  });
});
