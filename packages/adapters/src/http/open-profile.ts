import type { AdapterOptions } from '@starloom/core';
import { EnvelopeProfile } from './envelope-profile.ts';
import type { HttpClient } from './http-client.ts';
import type { Profile } from './profile.ts';
import type { HttpAdapterOptions } from './profile-options.ts';
import { TemplateProfile } from './template/profile.ts';

export function openProfile(
  { manifest }: AdapterOptions,
  client: HttpClient,
  options: HttpAdapterOptions,
): Profile {
  switch (options.profile) {
    case 'envelope':
      return new EnvelopeProfile(manifest, client);
    case 'template':
      return new TemplateProfile(manifest, client, options);
  }
}
