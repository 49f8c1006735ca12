// Incidents of other gateways, servers and libraries, and the tests that show they do not happen here.
// docs/security.md has the same table; incidents.test.ts keeps both together and looks the tests up.

export interface Incident {
  readonly id: string;
  /** What happened, and where. */
  readonly what: string;
  /** By file: the names of the tests, or how they begin. */
  readonly tests: Readonly<Record<string, readonly string[]>>;
}

export const INCIDENTS: readonly Incident[] = [
  {
    id: 'T1',
    what: 'A URL of a server reaches a shell (mcp-remote, CVE-2025-6514)',
    tests: {
      'packages/adapters/test/mcp-oauth-login.test.ts': [
        'T1: shows no link that no browser asks a server with',
      ],
      'packages/starloom/test/ask/ask-person.test.ts': [
        'is warned of a link that is no web address',
      ],
    },
  },
  {
    id: 'T2',
    what: 'A local proxy without authentication starts processes (Inspector, CVE-2025-49596)',
    tests: {
      'packages/gateway/test/authentication.test.ts': [
        '[G9] looks at the key before the body, whatever the body is',
      ],
      'packages/gateway/test/incidents.test.ts': ['T2, T3: a page that reached the port'],
    },
  },
  {
    id: 'T3',
    what: 'DNS rebinding (TypeScript, Python, Go, Java and Ruby SDKs, Docker gateway)',
    tests: {
      'packages/gateway/test/incidents.test.ts': [
        'T2, T3: a page that reached the port',
        'is refused on every route and upgrade, with a valid key too',
      ],
      'packages/gateway/test/authentication.test.ts': [
        'refuses foreign hosts and origins on every route',
      ],
    },
  },
  {
    id: 'T4',
    what: 'A regular expression without end (TypeScript SDK, CVE-2026-0621)',
    tests: {
      'packages/wire/test/foreign-schema/schema-validators.test.ts': ['[G9] judges %s in linear'],
      'packages/gateway/test/hostile-schemas.test.ts': ['take no time of others by %s'],
    },
  },
  {
    id: 'T5',
    what: 'Answers to the wrong client (TypeScript SDK, CVE-2026-25536, CVE-2026-111770)',
    tests: {
      'packages/gateway/test/bad-input.test.ts': [
        'crosses no answers of a thousand clients with equal request ids',
      ],
    },
  },
  {
    id: 'T6',
    what: 'An agent names its own authorization server (TypeScript SDK, CVE-2026-104850)',
    tests: {
      'packages/adapters/test/mcp-oauth.test.ts': [
        'sends the secret to no server that the manifest does not name',
        'refuses an agent that names another server than the manifest',
      ],
    },
  },
  {
    id: 'T7',
    what: 'Redirects that carry headers to another origin (SDKs of MCP and A2A)',
    tests: {
      'packages/adapters/test/mcp-hostile-http.test.ts': ['is not followed by a redirect %i'],
      'packages/wire/test/address-guard.test.ts': ['does not follow redirects'],
    },
  },
  {
    id: 'T8',
    what: 'Huge arrays and keys in validation (TypeScript SDK, CVE-2026-111768)',
    tests: {
      'packages/gateway/test/transports/frame.test.ts': [
        '[G9] of too many values are refused before they are parsed',
      ],
      'packages/wire/test/json-limits.test.ts': [
        '[G9] refuse an answer of a million keys, and one nested a million deep',
      ],
    },
  },
  {
    id: 'T9',
    what: 'Limits of bodies that are not enforced (TypeScript SDK, mcp-go, mcp-framework)',
    tests: {
      'packages/gateway/test/bad-input.test.ts': [
        'cuts a body without length as soon as it is too long',
      ],
      'packages/gateway/test/oversize.test.ts': ['is answered with 413 however much is on its way'],
    },
  },
  {
    id: 'T10',
    what: 'Tokens for another audience are accepted (TypeScript and Python SDKs)',
    tests: {
      'packages/identity/test/passport.test.ts': ['another audience', 'a list of audiences'],
      'packages/identity/test/mandate.test.ts': ['another agent', 'a list of agents'],
      'packages/identity/test/oauth.test.ts': [
        'is checked for the audience of the configuration, where one is named',
      ],
    },
  },
  {
    id: 'T11',
    what: 'A session of another principal by its id (Python SDK, CVE-2026-52869)',
    tests: {
      'packages/gateway/test/jobs.test.ts': [
        'has one answer for unknown, foreign and malformed ids',
      ],
      'packages/gateway/test/mcp/http-sessions.test.ts': [
        'is one for its principal alone, until it is deleted',
      ],
      'packages/gateway/test/asking.test.ts': [
        'is answered by the principal that was asked, and by no other',
      ],
      'packages/coordination/test/session.test.ts': [
        'are seen by their members only: an unknown and a forbidden id look the same',
      ],
    },
  },
  {
    id: 'T12',
    what: 'Keys of another case, twice, or with NUL slip past inspection (Go, CVE-2026-27896)',
    tests: {
      'packages/gateway/test/incidents.test.ts': [
        'T12: keys that another parser would read as ours',
      ],
      'packages/gateway/test/transports/frame.test.ts': ['duplicate_key'],
    },
  },
  {
    id: 'T13',
    what: 'A buffer of events grows until a delimiter comes (PHP SDK, CVE-2026-53965)',
    tests: {
      'packages/wire/test/sse.test.ts': [
        'cuts off a server that sends 100 MB without a blank line',
      ],
    },
  },
  {
    id: 'T14',
    what: 'Arguments leave their place in path, query or header (agentgateway, FastMCP)',
    tests: {
      'packages/adapters/test/openapi.test.ts': [
        '[G26] arguments that try to leave their place',
        'are refused in a path: %j',
        'are refused in a header: %j',
      ],
    },
  },
  {
    id: 'T15',
    what: 'A test of a connection runs a command of the request (LiteLLM, CVE-2026-42271)',
    tests: {
      'packages/gateway/test/incidents.test.ts': [
        'T15: no route, tool or method takes a command, or changes the agents',
      ],
    },
  },
  {
    id: 'T16',
    what: 'Authentication falls back and lets callers in (LiteLLM, CVE-2026-59822)',
    tests: {
      'packages/identity/test/authenticator.test.ts': [
        'must be rejected, also when callers without credentials are let in:',
      ],
      'packages/gateway/test/authentication.test.ts': [
        'lets callers without a key in only when asked to, and a wrong key not even then',
      ],
    },
  },
  {
    id: 'T17',
    what: 'A dependency is taken over (LiteLLM 1.82.7, axios)',
    tests: {
      'test/npm-install.system.test.ts': [
        'names every install script: allowed or refused',
        'fails when the lock file does not fit',
      ],
    },
  },
  {
    id: 'T18',
    what: 'A secret of the sample configuration signs tokens (ContextForge, CVE-2026-53709)',
    tests: {
      'packages/gateway/test/config-rules.test.ts': ['%s stops the start, with what to do instead'],
    },
  },
  {
    id: 'T19',
    what: 'A language filter is called a sandbox (ContextForge, CVE-2026-53710)',
    tests: {
      'packages/adapters/test/isolation.engine.test.ts': [
        '[G25] write to the folder they run in and nowhere else',
      ],
    },
  },
  {
    id: 'T20',
    what: 'Bound to all interfaces without a token (mcp-router, CVE-2026-81094)',
    tests: {
      'packages/gateway/test/config.test.ts': ['refuses anonymous callers on %s, whoever named'],
      'packages/starloom/test/fabric-commands.system.test.ts': [
        'callers without a key beyond loopback',
      ],
    },
  },
  {
    id: 'T21',
    what: 'A negated filter escapes scopes (1MCP, CVE-2026-108586)',
    tests: {
      'packages/gateway/test/incidents.test.ts': ['T21: filters'],
    },
  },
  {
    id: 'T22',
    what: 'An older route skips the check of scopes (Google toolbox, CVE-2026-14537)',
    tests: {
      'packages/gateway/test/no-way-around.test.ts': [
        'serves no route to a key that may use nothing',
        'serves no method to a key that may use nothing',
        'knows no tool for a key that may use nothing',
      ],
      'packages/gateway/test/scopes.test.ts': [
        'make what it may not use look unknown, by every tool',
      ],
      'packages/gateway/test/rpc/scopes.test.ts': [
        'makes sessions look unknown as resources, although the principal is in them',
      ],
      'packages/gateway/test/a2a/authorization.test.ts': [
        'AUTH-SCOPE-003: an agent that they may not use is answered like one that is not there',
      ],
    },
  },
  {
    id: 'T23',
    what: 'An internal header is trusted from outside (Kuadrant, GO-2026-5390)',
    tests: {
      'packages/gateway/test/incidents.test.ts': ['T23: headers that only insiders should send'],
    },
  },
  {
    id: 'T24',
    what: 'A development mode is reachable in production (inkeep, CVE-2026-8321)',
    tests: {
      'packages/gateway/test/config-mistakes.test.ts': [
        'anonymous beyond loopback even when something else is wrong',
      ],
    },
  },
  {
    id: 'T25',
    what: 'Webhooks and cards reach the private network (A2A SDK, conductor CVE-2026-109403)',
    tests: {
      'packages/gateway/test/a2a/push.test.ts': ['are refused for %s, and no task is begun'],
      'packages/jobs/test/webhook-sender.test.ts': [
        'calls no address of our own network, and gives up at once',
      ],
      'packages/adapters/test/a2a-card.test.ts': ['is refused when it is %s'],
      'packages/wire/test/address-guard.test.ts': [
        'judges the address it dials, not the one that was checked before',
      ],
    },
  },
  {
    id: 'T26',
    what: 'Paths leave their folder by prefix, link or option (filesystem and git servers)',
    tests: {
      'packages/runtime/test/plugins/fs-confinement.test.ts': [
        'do not include a sibling whose name begins the same',
        'are not left by a link to what does not exist yet',
      ],
      'packages/runtime/test/plugins/git.system.test.ts': [
        'takes paths as they are written, be they options or patterns elsewhere',
      ],
    },
  },
  {
    id: 'T27',
    what: 'An odd content type skips validation (Fastify, CVE-2026-25223, 33806, 3419)',
    tests: {
      'packages/gateway/test/incidents.test.ts': ['T27: a body under another content type'],
    },
  },
  {
    id: 'T28',
    what: 'A slow reader makes the buffer grow (Fastify, CVE-2026-25224)',
    tests: {
      'packages/gateway/test/streaming.test.ts': ['holds the agent back while the client does not'],
      'packages/gateway/test/transports/held-bytes.test.ts': [
        'is cut off on all connections together, while others are served',
      ],
    },
  },
  {
    id: 'T29',
    what: 'Odd paths pass a proxy, TLS is not verified (@fastify/http-proxy, reply-from)',
    tests: {
      'packages/gateway/test/incidents.test.ts': ['T29, T30: requests that a proxy before us'],
      'packages/adapters/test/http.test.ts': [
        'was sent nothing when nobody vouches for its certificate',
      ],
      'packages/gateway/test/mtls.test.ts': [
        'is not spoken to without encryption, nor below TLS 1.2',
      ],
    },
  },
  {
    id: 'T30',
    what: 'Two lengths, a bomb of compression, CRLF in an upgrade (undici, CVE-2026-1525 to 1527)',
    tests: {
      'packages/gateway/test/incidents.test.ts': [
        'T29, T30: requests that a proxy before us',
        'T30: a WebSocket is never compressed, however the client asks',
      ],
    },
  },
  {
    id: 'T31',
    what: 'Any valid token has every scope; a default secret is printed in the manual',
    tests: {
      'packages/identity/test/passport.test.ts': [
        '[G12] lets its bearer act for its principal, within what it says',
      ],
      'packages/gateway/test/config-rules.test.ts': ['%s stops the start'],
    },
  },
  {
    id: 'T32',
    what: 'An answer to a request for permission serves another request (editor protocol; a risk)',
    tests: {
      'packages/adapters/test/agent-client-protocol-hostile.system.test.ts': [
        'gets no permission when the caller %s',
        'gets nothing for a session that is not its own, and a bad request is refused',
      ],
      'packages/gateway/test/asking.test.ts': ['refuses an answer that %s'],
    },
  },
];
