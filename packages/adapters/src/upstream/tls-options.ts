import type { Endpoint } from '@starloom/core';

/** For connections to an agent: our certificate, and the CA that its certificate must be of. */
export function tlsOptions({ tls }: Pick<Endpoint, 'tls'>) {
  if (tls === undefined) return {};
  const { certificate: cert, key, ca } = tls;
  return {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(ca !== undefined && { ca }),
  };
}
