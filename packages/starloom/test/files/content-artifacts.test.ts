import { describe, expect, it } from 'vitest';
import { contentArtifacts } from '../../src/files/artifacts.ts';

describe('the content of an answer', () => {
  it('has its pictures, sound, files and links as artifacts, and no text', () => {
    const content = [
      { type: 'text', text: 'Here:' },
      { type: 'image', data: 'AAEC', mimeType: 'image/png' },
      { type: 'audio', data: 'AAEC', mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'demo://a/notes.md', text: 'hi' } },
      {
        type: 'resource',
        resource: { uri: 'demo://x.gz', blob: 'AA', mimeType: 'application/gzip' },
      },
      { type: 'resource_link', uri: 'starloom:a:demo://b', name: 'B' },
      { type: 'hologram' },
      null,
    ];
    expect(contentArtifacts(content)).toEqual([
      { id: 'image-2', media_type: 'image/png', data: 'AAEC' },
      { id: 'audio-3', media_type: 'audio/wav', data: 'AAEC' },
      { id: '4', name: 'notes.md', media_type: 'text/plain', text: 'hi' },
      { id: '5', name: 'x.gz', media_type: 'application/gzip', data: 'AA' },
      { id: '6', name: 'B', media_type: 'application/octet-stream', uri: 'starloom:a:demo://b' },
    ]);
    expect(contentArtifacts()).toEqual([]);
  });
});
