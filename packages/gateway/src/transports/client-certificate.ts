// The certificate that a client showed when it connected, as identity knows it.

import { hash, type X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '@starloom/identity';

const known = new WeakMap<Socket, ClientCertificate>();

/** `undefined` where the client showed none. One that was not verified ends with its connection. */
export function certificateOf(socket: Socket): ClientCertificate | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  const before = known.get(socket);
  if (before) return before;
  const shown = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  if (!shown) return undefined;
  const certificate = toClientCertificate(shown);
  known.set(socket, certificate);
  return certificate;
}

/** Whether the client showed a certificate that does not hold. */
export function isUnverified(socket: TLSSocket): boolean {
  return !socket.authorized && socket.getPeerX509Certificate() !== undefined;
}

export function toClientCertificate(certificate: X509Certificate): ClientCertificate {
  const { CN: name } = certificate.toLegacyObject().subject;
  return {
    thumbprint: hash('sha256', certificate.raw, 'base64url'),
    names: splitNames(certificate.subjectAltName ?? ''),
    subject: typeof name === 'string' ? name : '',
    expiresAt: Date.parse(certificate.validTo),
  };
}

const NAME = /([A-Za-z][A-Za-z ]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;

/**
 * Node puts a name with odd characters in quotes, so that it cannot pass for several. Such names are left
 * out: no rule is to fit them.
 */
function splitNames(text: string): string[] {
  const names: string[] = [];
  NAME.lastIndex = 0;
  while (NAME.lastIndex < text.length) {
    const [, kind = '', value = ''] = NAME.exec(text) ?? [];
    if (kind === '') return [];
    if (!value.startsWith('"')) names.push(`${kind}:${value}`);
  }
  return names;
}
