// Every clause the product must satisfy. `claimed` says that a test proves it: a test cites the id in
// square brackets in its title, and requirements.test.ts fails on a claimed id that no test cites.

export interface Requirement {
  readonly id: string;
  readonly sentence: string;
  /** The document it comes from. */
  readonly source: string;
  readonly claimed: boolean;
}

const CLAIMED = new Set(
  (
    'G1 G2 G3 G4 G5 G6 G7 G8 G9 G10 G11 G12 G13 G14 G15 G16 G17 G18 G20 G21 G22 G23 G24 G25 G26 G27 G28 G29 G30 G31 G32 G33 G34 G35 G36 G37 G38 G39 G40 G41 ' +
    'A1 A2 A3 A4 A5 A6 A7 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 C14 C15 S1 S2 S3 S4 S5 S6 S7 S8 S9 ' +
    'P1 P2 P3 P4 P5 P6 P7 P8 P10 P11 P12'
  ).split(' '),
);

const SENTENCES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'fabric-gateway.md': {
    G1: 'MCP clients connect over stdio, Streamable HTTP and WebSocket; current and older protocol revisions',
    G2: '`fabric.agent.list`: agents with capability manifests, trust tier, health; filter by capability, tag, tier, status, modality',
    G3: "`fabric.agent.describe`: one agent's full manifest with input schemas",
    G4: '`fabric.call`: synchronous, streaming, asynchronous with a job handle',
    G5: '`fabric.route.preview`: the routing decision with its reasons and fallbacks, nothing executed',
    G6: '`fabric.health`: gateway, registry, engines, agents',
    G7: '`fabric.job.status`, `fabric.job.stream`, `fabric.job.cancel`',
    G8: 'each agent capability is also an MCP tool of its own',
    G9: 'pipeline order: frame, authentication (from headers, before the body is parsed), body and argument schema, trace, envelope',
    G10: 'canonical envelope, every field (`auth.mode` psk, passport, mtls, none, and our oauth; `timeout_ms` 60000 by default); all inbound calls become one before an adapter sees them',
    G11: 'PSK by `Authorization: Bearer`, mapped to `auth.mode = psk`',
    G12: "passport by `X-Agent-Passport`, as a compact token or as the seed's JSON object (`principal_id`, delegation scopes, expiry, `key_id`, signature over the RFC 8785 form without it); verified at the gateway, re-verifiable at the agent",
    G13: 'mandate token: `sub` → `delegate_id`, `prn` → `principal_id`, `mnd` → `mandate_id`, `cog` → `cog_id`, `cap`, `scp`',
    G14: 'mTLS: client certificate → principal, both towards clients and towards agents',
    G15: 'trace context on every call, log line, event and answer: `trace_id`, `span_id`, `parent_span_id`',
    G16: 'registry interface: list with filter, get, register, update health, find by capability, resolve fallbacks',
    G17: 'registry in a YAML file, git-able, reloaded without restart',
    G18: 'registry in Postgres, indexed, transactional, with health telemetry',
    G19: 'distributed registrar: consensus, multi-node, federated, with federation rules',
    G20: 'manifest: `agent_id`, `node_id`, `version`, endpoint, capabilities (name, streaming, modalities, timeout hint, schemas), `trust_tier`, `tags`',
    G21: 'adapter interface: `call`, `health`, `describe`',
    G22: 'RuntimeMCP: native MCP agents',
    G23: 'RuntimeAgentZero: FastA2A and RFC',
    G24: 'RuntimeACP: Agent Communication Protocol',
    G25: 'RuntimeLocalProcess: spawned processes',
    G26: 'RuntimeHTTP: generic HTTP and REST',
    G27: 'events `status`, `token {text}`, `tool_call`, `progress {percent}`, `final {answer, citations}`, each with trace context, over SSE and WebSocket',
    G28: 'error normalisation to the canonical payload, six codes, details with agent, capability, upstream',
    G29: 'timeouts enforced at the adapter boundary, then fallback',
    G30: 'fallback on timeout, offline and capability error; result says which agent answered and what failed before; exhausted → structured error with primary and fallbacks',
    G31: 'fallback tiers: named fallbacks, same-capability peers, degraded mode (no streaming), refusal by policy for untrusted origins',
    G32: 'structured JSON logs, a trace id on every line',
    G33: 'distributed traces to Jaeger or Tempo; metrics for latency, errors, agent availability to Prometheus; logs to Loki or CloudWatch; a Grafana dashboard',
    G34: 'single-node development topology: stdio gateway and local agent processes, one command',
    G35: 'multi-node production topology: several gateways, agents on other nodes, Postgres registry',
    G36: 'health status tracking drives routing',
    G37: 'registry backends and adapters are pluggable: one from another npm package loads by its name in the configuration',
    G38: 'a node runs adapters beside its agents and serves them to gateways elsewhere',
    G39: "`response.format`: `text`, `json` and `toolcalls` each shape the answer, whatever the agent's protocol",
    G40: "the profile is announced: `AF-MCP` 0.1 in the server's discovery answer and in `fabric.health`",
    G41: 'a log line, a span and metrics for every request of every face: tools, lists, refusals, `/rpc`',
  },
  'inter-agent-mcp.md': {
    A1: 'an agent is MCP server and MCP client at once',
    A2: 'it serves tools and resources; `initialize` names protocol version, `tools.listChanged`, `resources.listChanged`, server name and version; 2024-11-05 stays negotiable',
    A3: 'no tool is exposed unless `agent.json` `mcp.expose_tools` names it; `private_tools` always wins',
    A4: 'an inbound `tools/call` becomes an `EXEC:TOOL_CALL` event in the core, handled as any other tool call',
    A5: 'every MCP request carries `X-OpenStarry-Trace-ID` as header or metadata',
    A6: 'the core counts call-chain depth and refuses beyond 5; A → B → C → A stops as a cycle; the refused trace stays tripped',
    A7: 'names such as `fs:read_file` are callable as written and listed in a form every client accepts',
  },
  'coordination.md': {
    C1: 'JSON-RPC 2.0 over HTTP and stdio; all interaction asynchronous; services stateless, state in the engine',
    C2: '`mcp.discover`: protocol version `1.0.0` and the six paths as written; agents, capabilities and tools discoverable',
    C3: '`agent_registry.register`, `heartbeat`, `unregister`; capabilities; beat every 30 s',
    C4: 'a missed heartbeat marks the agent inactive, and the session manager tells the other agents of its sessions',
    C5: '`context_coordinator.subscribe` and pushed `context_coordinator.update` over WebSocket, stdio, and SSE on HTTP; a plain POST client reads from a cursor',
    C6: "a lock on the session's context is needed before an update; conflicts are refused",
    C7: 'memory locker: acquire, renew, release, status, waiting',
    C8: 'tool cache: put, get, invalidate, statistics',
    C9: 'shared buffer: put, get, list, evict, statistics',
    C10: 'session manager: create, join, leave, list, end',
    C11: 'errors: JSON-RPC codes with `data.details`',
    C12: 'on Redis; the onboarding workflow connect → discover → register → session → subscribe → heartbeat works as written',
    C13: "survives an agent's failure and keeps the session whole",
    C14: "no direct agent-to-agent message in this plane: everything passes through the session's context",
    C15: 'agents register to take part: an agent that creates or joins a session is registered, with presence',
  },
  'standards-support.md': {
    S1: 'MCP client: servers started as subprocesses from `[[mcp.servers]]` (`name`, `command`, `env`, `allowed_tools`), tools registered, lifetime tied to the agent',
    S2: '`allowed_tools` unset: all, with a warning; `[]`: none; list: those',
    S3: 'every MCP result is marked `trust=untrusted, type=data`',
    S4: 'ACP server for editors over stdio: initialize, prompt, streamed updates, session state across prompts',
    S5: 'ACP capabilities `loadSession`, `image`, `audio`, `embeddedContext`; `[acp]` name and version',
    S6: 'A2A: peer discovery, capability negotiation, task delegation, result collection',
    S7: 'trust: MCP results and A2A messages untrusted, ACP prompts by `user_trust`',
    S8: 'security verification runs whatever the source',
    S9: 'an agent spawns sub-agents with narrower rights, locally or as A2A peers, by the same call',
  },
  'standard-protocol.md': {
    P1: 'the types of `interfaces.ts`, by their names; tool names match exactly; metadata carries token usage and latency',
    P2: 'the same tool by slash command (`/read filename.txt`; parsed before the model, user-authorised) and by the model (autonomy), through one execution path',
    P3: 'providers translate tools up and answers down; Gemini, OpenAI, Anthropic and any OpenAI-compatible endpoint',
    P4: 'segments `text image audio video ui tool_call`, ordered, mixed',
    P5: 'a missing call id becomes a UUID',
    P6: 'think–act loop: generate, detect calls, execute, remember, generate again',
    P7: 'the provider reads its tools from `context.tools`',
    P8: "schema upload once where the model's API caches, by id or by cache mark",
    P9: 'tool retrieval: intent, vector search, top-N injection, for thousands of tools',
    P10: 'unparsable model output: an error in a text segment, or `AgentPainException`',
    P11: 'a call to a tool that does not exist becomes a system observation and the model corrects itself',
    P12: "plugins of other packages and files load by name; a provider or tool written from the seed's interfaces alone works, with the tool result where the seed says it is read in round two",
  },
};

export const REQUIREMENTS: readonly Requirement[] = Object.entries(SENTENCES).flatMap(
  ([source, sentences]) =>
    Object.entries(sentences).map(([id, sentence]) => ({
      id,
      sentence,
      source,
      claimed: CLAIMED.has(id),
    })),
);
