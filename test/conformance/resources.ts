// The resources and the template that the suite reads.

import {
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import { PNG } from './media.ts';

const TEXT = 'text/plain';

export const resources: readonly Resource[] = [
  { uri: 'test://static-text', name: 'static-text', description: 'A text', mimeType: TEXT },
  {
    uri: 'test://static-binary',
    name: 'static-binary',
    description: 'An image',
    mimeType: PNG.mimeType,
  },
  {
    uri: 'test://watched-resource',
    name: 'watched-resource',
    description: 'A text that clients subscribe to',
    mimeType: TEXT,
  },
];

export const resourceTemplates: readonly ResourceTemplateType[] = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'Data by its id',
    mimeType: 'application/json',
  },
];

export function readResource(uri: string): ReadResourceResult {
  switch (uri) {
    case 'test://static-text':
      return textContents(uri, 'This is the content of the static text resource.');
    case 'test://static-binary':
      return { contents: [{ uri, mimeType: PNG.mimeType, blob: PNG.data }] };
    case 'test://watched-resource':
      return textContents(uri, 'Watched resource content');
  }
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id === undefined) throw new ResourceNotFoundError(uri);
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: 'application/json', text: data }] };
}

function textContents(uri: string, text: string): ReadResourceResult {
  return { contents: [{ uri, mimeType: TEXT, text }] };
}
