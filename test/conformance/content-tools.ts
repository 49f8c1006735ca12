// Tools that answer at once: every kind of content, a failure, and schemas to be listed untouched.

import { type FixtureTool, fixtureTool, text } from './fixture-tool.ts';
import { PNG, WAV } from './media.ts';

const IMAGE = { type: 'image', ...PNG } as const;

export const contentTools: readonly FixtureTool[] = [
  fixtureTool('test_simple_text', 'Answers with a text', () =>
    text('This is a simple text response for testing.'),
  ),
  fixtureTool('test_image_content', 'Answers with an image', () => ({ content: [IMAGE] })),
  fixtureTool('test_audio_content', 'Answers with a sound', () => ({
    content: [{ type: 'audio', ...WAV }],
  })),
  fixtureTool('test_embedded_resource', 'Answers with a resource', () => ({
    content: [
      resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
    ],
  })),
  fixtureTool(
    'test_multiple_content_types',
    'Answers with a text, an image and a resource',
    () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        IMAGE,
        resource(
          'test://mixed-content-resource',
          'application/json',
          '{"test":"data","value":123}',
        ),
      ],
    }),
  ),
  fixtureTool('test_error_handling', 'Always fails', () => ({
    ...text('This tool intentionally returns an error for testing'),
    isError: true,
  })),
  fixtureTool(
    'json_schema_2020_12_tool',
    'Has a schema with keywords of JSON Schema 2020-12',
    (given) => text(JSON.stringify(given)),
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
  ),
  fixtureTool(
    'test_mirrored_argument',
    'Wants an argument in a header, too',
    ({ region }) => text(`region=${region}`),
    {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    },
  ),
];

function resource(uri: string, mimeType: string, content: string) {
  return { type: 'resource', resource: { uri, mimeType, text: content } } as const;
}
