// Client certificates as credentials. That a certificate is genuine, in time and not revoked was proven
// when the connection was made; here its names decide who the caller is. The first rule that fits counts.

import { matchesGlob, type TrustTier } from '@starloom/core';
import type { Principal } from './principal.ts';
import { failure } from './reasons.ts';

/** Of a connection whose client proved to have the key of the certificate. */
export interface ClientCertificate {
  /** SHA-256 of the certificate, base64url (`x5t#S256`). */
  readonly thumbprint: string;
  /** Subject alternative names, as `URI:…`, `DNS:…`, `email:…` or `IP:…`. */
  readonly names: readonly string[];
  /** Common name of the subject. */
  readonly subject: string;
  /** In milliseconds. */
  readonly expiresAt: number;
}

/** One of `spiffe`, `san` and `subject`, as a glob. */
export interface CertificateRule {
  readonly spiffe?: string | undefined;
  readonly san?: string | undefined;
  readonly subject?: string | undefined;
  readonly principal: string;
  readonly tier: TrustTier;
  readonly scopes: readonly string[];
}

export interface CertificateVerifier {
  /** The principal of a certificate; AUTH_DENIED when no rule fits. */
  verify(certificate: ClientCertificate): Principal;
}

export function createCertificateVerifier(rules: readonly CertificateRule[]): CertificateVerifier {
  return {
    verify(certificate) {
      const rule = rules.find((each) => fits(each, certificate));
      if (rule) return toPrincipal(rule, certificate);
      throw failure('unknown_certificate');
    },
  };
}

/** The certificate that `cnf` names; no other binding can be checked here, so others are refused. */
export function boundCertificate(cnf: unknown): string | undefined {
  if (cnf === undefined) return undefined;
  const [[kind, thumbprint] = [], ...others] = Object.entries(cnf ?? {});
  const isCertificate = kind === 'x5t#S256' && typeof thumbprint === 'string' && thumbprint !== '';
  if (isCertificate && others.length === 0) return thumbprint;
  throw failure('bound_to_key');
}

/** A token that is bound to a certificate (RFC 8705) is worth nothing without it. */
export function assertBound(principal: Principal, certificate?: ClientCertificate): Principal {
  const { boundTo } = principal;
  if (boundTo === undefined || boundTo === certificate?.thumbprint) return principal;
  throw failure('bound_to_key/certificate');
}

function fits({ spiffe, san, subject }: CertificateRule, certificate: ClientCertificate): boolean {
  const { names } = certificate;
  if (spiffe !== undefined) {
    const ids = names.filter((name) => name.startsWith('URI:'));
    // An X.509-SVID has exactly one URI; with two it is not known who it is.
    return ids.length === 1 && matchesPath(spiffe, ids[0]?.slice('URI:'.length) ?? '');
  }
  if (san !== undefined) return names.some((name) => matchesPath(san, name));
  return (
    subject !== undefined && certificate.subject !== '' && matchesPath(subject, certificate.subject)
  );
}

/** A star does not reach over a `/` or a dot: `*.example` is one label, `/ns/*` one segment. */
function matchesPath(glob: string, name: string): boolean {
  const [wanted, given] = [glob.split(/[/.]/), name.split(/[/.]/)];
  return (
    wanted.length === given.length && wanted.every((part, at) => matchesGlob(part, given[at] ?? ''))
  );
}

function toPrincipal(
  { principal: id, tier, scopes }: CertificateRule,
  { expiresAt }: ClientCertificate,
): Principal {
  return { id, mode: 'mtls', tier, scopes, keyId: null, expiresAt };
}
