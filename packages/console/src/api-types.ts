// Every request and answer of `/console/api/*`, and every line of its one stream. The gateway and the page
// are both checked against this file; it imports nothing. Wire documents are snake_case, times are ISO 8601
// texts, durations are milliseconds.
//
// Every answer is JSON. `ok: true` is a success, `ok: false` the one error payload of the fabric, with the
// HTTP status of its code. A part of the gateway that is not running answers 200 with `running: false`.
//
// Texts that agents wrote (names, descriptions, messages, answers) are data: show them as text alone.

// Answers

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}
export type JsonSchema = Readonly<Record<string, unknown>>;
/** ISO 8601, in UTC. */
export type Time = string;

export interface ApiError {
  /** Of the closed table of codes, such as `AGENT_OFFLINE`. */
  readonly code: string;
  readonly message: string;
  readonly details: {
    /** Why, in one word for programs. */
    readonly reason?: string;
    /** What to do about it, for people. */
    readonly fix?: string;
    readonly [field: string]: unknown;
  };
}

export interface Failure {
  readonly ok: false;
  readonly error: ApiError;
  readonly trace?: { readonly trace_id: string } | null;
}

export const PARTS = [
  'journal',
  'jobs',
  'coordination',
  'audit',
  'approvals',
  'pinning',
  'identity',
  'commands',
  'registration',
] as const;
export type Part = (typeof PARTS)[number];

/** This part of the gateway is off: say so, and how to turn it on. */
export interface NotRunning {
  readonly ok: true;
  readonly running: false;
  readonly part: Part;
  readonly message: string;
  /** What to do, for people; often lines of the configuration. */
  readonly fix: string;
}

export type Success<T> = { readonly ok: true; readonly running: true } & T;
/** Of a part that may be off. */
export type Answer<T> = Success<T> | NotRunning | Failure;

/** One page of a list, newest first. No `next_cursor`: that was the last one. */
export interface Page {
  readonly next_cursor?: string;
}

// Session
// POST   /console/api/session   {code} of a link, {oauth: {issuer}} → OauthRedirect, {oauth: {state, code, proof, iss?}},
//                               {link: true} → a code for another browser, or {} with `Authorization: Bearer …`
//                               → SessionStarted
// GET    /console/api/session   → Answer<WhoAmI>   (cookie and token, as for every other path)
// DELETE /console/api/session   → Answer<{}>
// `X-Starloom-Csrf: <csrf>` goes with every request but POST of the session, which is the only one that
// works without a cookie. 401: sign in (again). 403: the token is wrong, as of a tab that is older than the
// cookie: sign in again, too.

/** Of the answer 401 to a session without a credential: `details.sign_in`. */
export interface SignIn {
  readonly oauth: readonly { readonly issuer: string; readonly name: string }[];
}

export interface OauthRedirect {
  readonly ok: true;
  /** Where the page goes next. */
  readonly url: string;
  /** Keep it in `sessionStorage` until the issuer comes back: another browser cannot end what this began. */
  readonly proof: string;
}

export interface SessionStarted {
  readonly ok: true;
  /** Keep it in memory or `sessionStorage`; it is never given out again. */
  readonly csrf: string;
  readonly principal: string;
  readonly scopes: readonly string[];
  /** The session ends then, or earlier with its credential. */
  readonly expires_at: Time;
}

/** What this person may do. */
export interface Rights {
  /** Add, drain, remove agents; approve their tools. */
  readonly agents: boolean;
  /** Add agents that are commands of this machine. */
  readonly commands: boolean;
  readonly keys: boolean;
  /** Call agents at all. */
  readonly call: boolean;
}

export interface WhoAmI {
  readonly principal: string;
  readonly tier: 'local' | 'org' | 'partner' | 'public';
  readonly mode: string;
  readonly key_id: string | null;
  readonly scopes: readonly string[];
  readonly rights: Rights;
  readonly gateway: {
    readonly version: string;
    readonly url: string;
    readonly started_at: Time;
  };
  /** Which parts run. */
  readonly parts: Readonly<Record<Part, boolean>>;
}

// Overview
// GET /console/api/overview?window=15m|1h|6h|24h   → Answer<Overview>

export const WINDOWS = ['15m', '1h', '6h', '24h'] as const;
export type Window = (typeof WINDOWS)[number];
export const HEALTH_STATES = ['unknown', 'starting', 'online', 'degraded', 'offline'] as const;
export type HealthStatus = (typeof HEALTH_STATES)[number];
export const JOB_STATES = [
  'queued',
  'running',
  'awaiting_input',
  'succeeded',
  'failed',
  'cancelled',
] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Counts and percentiles of some calls; the percentiles are absent without calls. */
export interface CallFigures {
  readonly calls: number;
  readonly errors: number;
  readonly fallbacks: number;
  readonly p50_ms?: number;
  readonly p95_ms?: number;
  readonly p99_ms?: number;
}

/** One step of the series, from `at` on. */
export interface SeriesPoint extends CallFigures {
  readonly at: Time;
}

export interface Overview {
  /** `own`: only calls of this person are counted. */
  readonly scope: 'all' | 'own';
  /** Absent while there is no journal; `journal` says why then. */
  readonly calls?: CallFigures & {
    readonly per_minute: number;
    readonly running: number;
    readonly step_ms: number;
    /** Without gaps: a step without calls is a point with zeros. */
    readonly series: readonly SeriesPoint[];
    readonly by_error: readonly { readonly code: string; readonly count: number }[];
    readonly slowest: readonly CallRow[];
    readonly failed: readonly CallRow[];
  };
  readonly journal?: NotRunning;
  readonly agents: {
    readonly total: number;
    readonly by_health: Readonly<Record<HealthStatus, number>>;
    /** Those not online, the worst first. */
    readonly unwell: readonly AgentRow[];
    /** Tools that wait for approval. */
    readonly held: number;
  };
  readonly jobs:
    | { readonly running: true; readonly by_state: Readonly<Record<JobState, number>> }
    | NotRunning;
  readonly engines: readonly EngineView[];
  readonly checklist: Checklist;
}

export interface EngineView {
  readonly name: string;
  readonly kind: string;
  readonly status: 'ok' | 'degraded' | 'offline';
  readonly latency_ms?: number;
  readonly reason?: string;
  readonly fix?: string;
}

/** Shown until the first call succeeded. */
export interface Checklist {
  readonly has_agent: boolean;
  readonly has_online_agent: boolean;
  readonly has_call: boolean;
  /** Some client other than this page called. */
  readonly has_client: boolean;
}

// Calls
// GET  /console/api/calls?…CallFilter…&cursor=&limit=   → Answer<CallPage>
// GET  /console/api/calls/<trace_id>                    → Answer<CallTrace>

/** As query parameters; what is absent does not narrow. Several values: separated by commas. */
export interface CallFilter {
  readonly agent?: string;
  readonly capability?: string;
  readonly principal?: string;
  /** `ok`, `error`, `running`, or a code such as `TIMEOUT`. */
  readonly status?: string;
  /** Which face the call came by: `mcp`, `a2a`, `rpc`, `job`, `console`… */
  readonly face?: string;
  readonly fallback?: 'true' | 'false';
  /** At least this long. */
  readonly min_ms?: string;
  /** Words in agent, capability, principal, error, trace id. */
  readonly q?: string;
}

export type CallStatus = 'running' | 'ok' | 'error' | 'input_required' | 'cancelled';

export interface CallRow {
  /** Names this call; several calls share a trace. */
  readonly call_id: string;
  readonly trace_id: string;
  readonly at: Time;
  /** Absent while it runs. */
  readonly duration_ms?: number;
  readonly status: CallStatus;
  readonly principal: string;
  readonly face: string;
  readonly capability: string;
  /** Who served it, or the first that was asked. */
  readonly agent_id?: string;
  /** Whom the caller or the route named first, where another one served. */
  readonly primary_id?: string;
  readonly fallback: boolean;
  readonly error_code?: string;
  readonly job_id?: string;
  readonly session_id?: string;
  readonly response_bytes?: number;
}

export interface CallPage extends Page {
  readonly scope: 'all' | 'own';
  readonly calls: readonly CallRow[];
}

/** One trace: every call of it, across hops, the first one first. */
export interface CallTrace {
  readonly trace_id: string;
  readonly calls: readonly CallDetail[];
  /** For the waterfall, in order of `start_ms`; nested by `parent`. */
  readonly spans: readonly Span[];
  readonly duration_ms: number;
}

export interface CallDetail extends CallRow {
  readonly depth: number;
  /** Who acts for whom: the principal first, then each agent in between. */
  readonly chain: readonly ChainLink[];
  readonly labels: readonly { readonly name: string; readonly value: string }[];
  /** The rule of the policy that decided. */
  readonly policy?: { readonly rule: string; readonly effect: string };
  readonly route?: {
    readonly candidates: readonly { readonly agent_id: string; readonly reason: string }[];
    readonly skipped: readonly { readonly agent_id: string; readonly reason: string }[];
  };
  readonly tries: readonly Attempt[];
  readonly events: readonly EventCount[];
  readonly error?: ApiError;
  /** In the units that the capability states. */
  readonly cost?: number;
  /** Only where `journal.payloads: redacted` keeps them; the page says so otherwise. */
  readonly request?: Json;
  readonly response?: Json;
  /** For "copy as" and "run again": what `POST /console/api/try` takes. */
  readonly again?: TryRequest;
}

export interface ChainLink {
  readonly kind: 'principal' | 'delegate' | 'agent';
  readonly id: string;
  readonly tier?: string;
}

export interface Attempt {
  readonly agent_id: string;
  readonly node_id?: string;
  readonly kind?: string;
  readonly status: 'ok' | 'error' | 'running';
  readonly duration_ms?: number;
  readonly error_code?: string;
  readonly message?: string;
}

export interface EventCount {
  readonly type: string;
  readonly count: number;
  readonly first_ms: number;
  readonly last_ms: number;
}

export interface Span {
  readonly id: string;
  readonly parent?: string;
  /** `call` is a bar of its own, the rest are steps within it. */
  readonly kind: 'call' | 'admit' | 'route' | 'wait' | 'attempt';
  readonly name: string;
  /** From the start of the trace. */
  readonly start_ms: number;
  readonly duration_ms?: number;
  readonly status: 'ok' | 'error' | 'running';
  readonly message?: string;
}

// Agents
// GET    /console/api/agents                       → Answer<AgentList>
// GET    /console/api/agents/<agent_id>            → Answer<AgentDetail>
// POST   /console/api/agents/<agent_id>/approve    {tools: [{name, fingerprint}]} → Answer<AgentDetail>; one that changed since is refused
// POST   /console/api/agents/<agent_id>/drain      {node_id?} → Answer<AgentDetail>
// POST   /console/api/agents/<agent_id>/check      {} → Answer<AgentDetail>   (asks the agent again, now)
// DELETE /console/api/agents/<agent_id>            → Answer<{}>
// POST   /console/api/agents/test                  AddRequest → Answer<AgentTest>   (saves nothing)
// POST   /console/api/agents                       AddRequest → Answer<AgentDetail>

export interface HealthView {
  readonly status: HealthStatus;
  readonly checked_at: Time | null;
  readonly since?: Time;
  readonly latency_ms?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly fix?: string;
}

export type BreakerState = 'closed' | 'open' | 'half-open';

export interface AgentRow {
  readonly agent_id: string;
  readonly node_id: string;
  readonly version: string;
  readonly description?: string;
  readonly protocol: string;
  readonly transport: string;
  readonly trust_tier: string;
  readonly tags: readonly string[];
  readonly health: HealthView;
  readonly breaker?: BreakerState;
  readonly tools: number;
  /** Tools that wait for approval. */
  readonly held: number;
  readonly instances: number;
  /** Of the last hour; absent without a journal. */
  readonly figures?: CallFigures;
}

export interface AgentList {
  readonly agents: readonly AgentRow[];
}

export interface AgentDetail extends AgentRow {
  readonly endpoint: { readonly uri?: string; readonly command?: string };
  readonly fallbacks: readonly string[];
  /** Declared by the manifest, but not offered by the agent. */
  readonly missing: readonly string[];
  readonly instance_list: readonly InstanceView[];
  /** Newest first. */
  readonly history: readonly HealthChange[];
  readonly capabilities: readonly ToolView[];
  readonly pins: readonly PinView[];
  /** What an operator may do here, as far as this person may. */
  readonly may: {
    readonly approve: boolean;
    readonly drain: boolean;
    readonly remove: boolean;
    readonly check: boolean;
  };
}

export interface InstanceView extends Pick<AgentRow, 'node_id' | 'health' | 'breaker' | 'version'> {
  readonly state: 'active' | 'draining' | 'expired';
  readonly hold?: { readonly reason: string; readonly message: string; readonly fix: string };
}

export interface HealthChange extends Pick<HealthView, 'status' | 'reason' | 'message'> {
  readonly at: Time;
  readonly node_id: string;
}

export interface ToolView {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly input_schema?: JsonSchema;
  readonly output_schema?: JsonSchema;
  readonly streaming?: boolean;
  readonly idempotent?: boolean;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** What was approved of a tool, and what waits. */
export interface PinView {
  readonly name: string;
  readonly state: 'approved' | 'held';
  readonly fingerprint: string;
  readonly approved_at?: Time;
  readonly approved_by?: string;
  /** Of one that waits: `new`, `changed`, `look_alike`… */
  readonly reason?: string;
  /** The tool whose name it resembles. */
  readonly like?: string;
  readonly seen_at?: Time;
  /** Of one that waits: field by field. `before` is absent for a new tool. */
  readonly changes: readonly PinChange[];
}

export interface PinChange {
  /** `description`, `input_schema`, `annotations`, `server`… */
  readonly field: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** Either a server that is reached by HTTP, or a command of the gateway's machine (`rights.commands`). */
export interface AddRequest {
  readonly agent_id: string;
  readonly protocol?: string;
  readonly uri?: string;
  readonly command?: string;
  readonly args?: readonly string[];
  /** References such as `env:NAME`, never the secret itself. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly trust_tier?: string;
}

export interface AgentTest {
  /** False: it was reached, but something is wrong; `error` says what. */
  readonly reachable: boolean;
  readonly health?: HealthView;
  readonly version?: string;
  readonly tools: readonly ToolView[];
  readonly error?: ApiError;
  readonly duration_ms: number;
}

// Try
// POST /console/api/try   TryRequest → NDJSON lines of TryLine, as they happen; abort the fetch to cancel.

/** The arguments of `fabric.call`. */
export interface TryRequest {
  readonly agent_id?: string;
  readonly capability: string;
  readonly task?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** Of a call that asked: goes on with it. */
  readonly conversation_id?: string;
  readonly inputs?: readonly GivenInput[];
  /** Answers with a job at once; needs jobs. */
  readonly async?: boolean;
}

export interface GivenInput {
  readonly id: string;
  readonly response: {
    readonly action: 'accept' | 'decline' | 'cancel';
    readonly content?: unknown;
  };
}

export type TryLine =
  /** The first line: where the call can be found. */
  | { readonly type: 'started'; readonly trace_id: string }
  | { readonly type: 'event'; readonly event: FabricEvent }
  /** The last line is one of these three. */
  | { readonly type: 'result'; readonly result: CallResult }
  | {
      readonly type: 'asks';
      /** Send it back as `conversation_id`, with `inputs`. */
      readonly conversation_id: string;
      readonly inputs: readonly Question[];
    }
  | { readonly type: 'error'; readonly error: ApiError; readonly trace_id?: string };

export interface CallResult {
  readonly result?: {
    readonly answer?: string;
    readonly data?: unknown;
    readonly citations?: readonly {
      readonly title?: string;
      readonly uri?: string;
      readonly text?: string;
    }[];
  };
  readonly agent_id?: string;
  readonly attempts?: readonly {
    readonly agent_id: string;
    readonly ok?: boolean;
    readonly error_code?: string;
    readonly [field: string]: unknown;
  }[];
  readonly fallback?: boolean;
  readonly job_id?: string;
}

export interface FabricEvent {
  readonly type: 'status' | 'token' | 'tool_call' | 'progress' | 'artifact' | 'final' | 'error';
  readonly seq: number;
  readonly at: Time;
  readonly agent_id?: string;
  /** By type: `{state, message?, inputs?}`, `{text}`, `{id, name, args, phase, result?}`,
   * `{percent?, message?}`, `{id, name?, media_type, text?, data?, uri?, append?, last?}`, `{answer, …}`. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly error?: ApiError;
}

/** A question of an agent. */
export interface Question {
  readonly id: string;
  readonly kind: 'text' | 'form' | 'choice' | 'url' | 'auth' | 'model' | 'roots';
  readonly message: string;
  readonly url?: string;
  readonly schema?: JsonSchema;
  /** Answer with `content: {choice: <id>}`. */
  readonly options?: readonly {
    readonly id: string;
    readonly label: string;
  }[];
}

// Inbox
// GET  /console/api/inbox        → Answer<Inbox>
// GET  /console/api/approvals    → NotRunning: no rule asks a person in this version
// A question of a job is answered with POST /console/api/jobs/<id>/input.

export interface Inbox {
  readonly questions: readonly InboxQuestion[];
  /** Tools that changed and wait for an operator; empty without `rights.agents`. */
  readonly held: readonly { readonly agent_id: string; readonly tools: readonly string[] }[];
  /** Why one of the lists is empty for good. */
  readonly off: readonly NotRunning[];
}

export interface InboxQuestion extends Pick<JobView, 'job_id' | 'agent_id' | 'capability'> {
  readonly asked_at: Time;
  readonly expires_at?: Time;
  readonly inputs: readonly Question[];
}

// Jobs
// GET  /console/api/jobs?state=&cursor=&limit=   → Answer<JobPage>
// GET  /console/api/jobs/<job_id>                → Answer<{job: JobView}>
// GET  /console/api/jobs/<job_id>/events?after=  → Answer<JobEvents>
// POST /console/api/jobs/<job_id>/cancel  {}     → Answer<{job: JobView}>
// POST /console/api/jobs/<job_id>/retry   {}     → Answer<{job: JobView}>   (the new job)
// POST /console/api/jobs/<job_id>/input   {inputs: GivenInput[]} → Answer<{job: JobView}>
// Others' jobs (`rights.jobs: all`) can be seen and cancelled; only their owner retries and answers.

export interface JobView {
  readonly job_id: string;
  readonly state: JobState;
  readonly principal: string;
  readonly is_own: boolean;
  readonly agent_id?: string;
  readonly capability: string;
  readonly trace_id: string;
  readonly created_at: Time;
  readonly updated_at: Time;
  readonly run_at?: Time;
  readonly finished_at?: Time;
  readonly deadline_at?: Time;
  readonly attempt: number;
  readonly attempts_allowed: number;
  readonly progress?: { readonly percent?: number; readonly message?: string };
  readonly inputs?: readonly Question[];
  readonly error?: ApiError;
  readonly retry_of?: string;
  /** Number of stored events. */
  readonly cursor: number;
  readonly cancelling: boolean;
  /** What `fabric.call` would have answered; of a single job, for its owner alone. */
  readonly result?: CallResult;
}

export interface JobPage extends Page {
  readonly scope: 'all' | 'own';
  readonly jobs: readonly JobView[];
}

export interface JobEvents {
  readonly events: readonly FabricEvent[];
  /** Pass it as `after` for what follows. */
  readonly cursor: number;
}

// Sessions of agents
// GET /console/api/sessions                           → Answer<SessionList>
// GET /console/api/sessions/<session_id>              → Answer<SessionDetail>
// GET /console/api/sessions/<session_id>/history?cursor=&limit=  → Answer<ContextHistory>

export interface SessionRow {
  readonly session_id: string;
  readonly mode: 'lock' | 'cas';
  readonly state: 'active' | 'suspended' | 'ended';
  readonly principal: string;
  readonly created_at: Time;
  readonly created_by: string;
  readonly ttl_ms: number;
  readonly members: number;
  readonly connected: number;
  readonly locks: number;
  readonly version: number;
}

export interface SessionList {
  readonly scope: 'all' | 'own';
  readonly sessions: readonly SessionRow[];
}

export interface SessionDetail extends SessionRow {
  readonly parent?: { readonly session_id: string; readonly version: number };
  readonly member_list: readonly MemberView[];
  readonly lock_list: readonly LockView[];
  /** The shared JSON object. */
  readonly context: JsonObject;
}

export interface MemberView {
  readonly agent_id: string;
  readonly principal: string;
  readonly role: 'reader' | 'writer' | 'owner';
  readonly epoch: number;
  readonly connected: boolean;
  readonly last_seen?: Time;
}

export interface LockView {
  readonly resource: string;
  readonly holder: string;
  /** Grows with every grant: what was written under a lower one is refused. */
  readonly fencing_token: number;
  readonly expires_at?: Time;
  readonly waiting: readonly string[];
}

export interface ContextHistory extends Page {
  readonly entries: readonly ContextChange[];
}

export interface ContextChange {
  readonly version: number;
  readonly at?: Time;
  readonly agent_id?: string;
  /** What was done, such as `set`, `merge`, `delete`. */
  readonly operation: string;
  readonly paths: readonly string[];
  readonly value?: Json;
}

// Topology
// GET /console/api/topology?window=…   → Answer<Topology>

export interface Topology {
  readonly scope: 'all' | 'own';
  readonly nodes: readonly TopologyNode[];
  readonly edges: readonly TopologyEdge[];
  /** Agents that called themselves through others, each as a closed path of node ids. */
  readonly loops: readonly (readonly string[])[];
}

export interface TopologyNode {
  /** `principal:<id>` or `agent:<id>`. */
  readonly id: string;
  readonly kind: 'principal' | 'agent';
  readonly name: string;
  readonly health?: HealthStatus;
  readonly calls: number;
}

export interface TopologyEdge extends CallFigures {
  readonly from: string;
  readonly to: string;
  readonly per_minute: number;
  readonly capabilities: readonly string[];
  /** How many of them arrived here because another agent had failed. */
  readonly as_fallback: number;
}

// People and keys
// GET    /console/api/keys                     → Answer<KeyList>           (admin:keys; else one's own)
// POST   /console/api/keys                     {key_id, principal, tier?, scopes, expires_in_hours?} → Answer<CreatedKey>
// POST   /console/api/keys/<key_id>/revoke     {} → Answer<{key: KeyView}>
// POST   /console/api/keys/revoke-grant        {kind: principal|delegate|grant, id} → Answer<{epoch: number}>
// POST   /console/api/keys/decode              {token} → Answer<DecodedToken>   (passport or mandate)
// POST   /console/api/keys/simulate            {key_id, agent_id, capability} → Answer<Simulation>

export interface KeyView {
  readonly key_id: string;
  readonly principal: string;
  readonly tier: string;
  readonly scopes: readonly string[];
  readonly source: 'configuration' | 'state';
  readonly state: 'active' | 'replaced' | 'expired' | 'revoked';
  readonly expires_at?: Time;
  /** The credential of this very session: revoking it signs out. */
  readonly is_mine: boolean;
}

export interface KeyList {
  readonly scope: 'all' | 'own';
  readonly keys: readonly KeyView[];
  /** What was revoked by principal, delegate or grant. */
  readonly revocations: readonly RevocationView[];
  readonly epoch: number;
}

export interface RevocationView {
  readonly kind: 'principal' | 'delegate' | 'grant' | 'suspended';
  readonly id: string;
  readonly epoch: number;
  readonly at: Time;
}

export interface CreatedKey {
  /** Shown once; it is kept nowhere. */
  readonly secret: string;
  readonly key: KeyView;
}

/** A token, read; nothing of it is stored. */
export interface DecodedToken {
  readonly kind: 'passport' | 'mandate' | 'unknown';
  readonly valid: boolean;
  /** Why it is refused. */
  readonly error?: ApiError;
  readonly claims: JsonObject;
  readonly principal?: string;
  readonly delegate?: string;
  readonly grant?: string;
  readonly audience?: string;
  readonly cap: readonly string[];
  readonly scp: readonly string[];
  readonly issued_at?: Time;
  readonly expires_at?: Time;
  /** The principal first, the bearer last. */
  readonly chain: readonly ChainLink[];
}

export interface Simulation {
  readonly effect: 'allow' | 'deny' | 'degrade' | 'ask';
  /** The rule that decided; `scopes` when the scopes did. */
  readonly rule?: string;
  /** Whether the caller would know of the tool at all. */
  readonly visible: boolean;
}

// Usage
// GET /console/api/usage?by=principal|agent|capability|day&since=   → Answer<Usage>

export const USAGE_GROUPS = ['agent', 'principal', 'capability', 'day'] as const;

export interface Usage {
  readonly scope: 'all' | 'own';
  readonly since: Time;
  readonly rows: readonly UsageRow[];
  readonly total: Omit<UsageRow, 'key'>;
}

export interface UsageRow {
  /** The principal, agent, capability (`agent/capability`) or day (`2026-01-31`); `-` for none. */
  readonly key: string;
  readonly calls: number;
  readonly errors: number;
  /** Of all calls together. */
  readonly total_ms: number;
  readonly request_bytes: number;
  readonly response_bytes: number;
  /** In the units that the capabilities of agents state. */
  readonly cost: number;
}

// Audit
// GET  /console/api/audit?type=&q=&cursor=&limit=   → Answer<AuditPage>   (admin:audit)
// GET  /console/api/audit/verify                    → Answer<AuditReport>

export interface AuditPage extends Page {
  readonly records: readonly AuditRecord[];
}

export interface AuditRecord {
  readonly type: 'open' | 'call' | 'mint' | 'denied' | 'pin' | 'policy' | 'lost' | 'seal' | 'close';
  readonly seq?: number;
  readonly at?: Time;
  readonly file: string;
  /** What happened, in one line. */
  readonly summary: string;
  readonly trace_id?: string;
  /** The record as it stands in the file. */
  readonly record: JsonObject;
}

export interface AuditReport {
  readonly verified: boolean;
  readonly files: number;
  readonly records: number;
  readonly problems: readonly string[];
}

// Settings
// GET /console/api/config   → Answer<ConfigView>

export interface ConfigView {
  /** Of the file that was read; absent without one. */
  readonly path?: string;
  /** In the order of the documentation; empty without `admin:policy`. Of a secret `value` is its reference. */
  readonly values: readonly ConfigValue[];
  /** Ready to copy, for this gateway. */
  readonly connect: readonly ConnectSnippet[];
}

export interface ConfigValue {
  /** Such as `limits.depth`. */
  readonly key: string;
  readonly value?: Json;
  readonly secret?: boolean;
  readonly origin: 'default' | 'file' | 'environment' | 'flag';
  /** Such as `starloom.yaml:12` or the name of the variable. */
  readonly where?: string;
}

export interface ConnectSnippet {
  /** `claude-code`, `cursor`, `vscode`… */
  readonly client: string;
  readonly title: string;
  /** Where it belongs, such as `~/.cursor/mcp.json`; absent for a command. */
  readonly file?: string;
  /** Has `${STARLOOM_KEY}` where the key belongs. */
  readonly text: string;
}

// The one stream
// GET /console/api/events?topics=calls,agents,jobs,…[&trace=<trace_id>][&session=<session_id>]
// NDJSON, read by `fetch`. The first line is `hello`. Change topics by opening it again.
// A page that reads too slowly loses lines and gets `reload`: fetch what is shown again.

export const TOPICS = ['calls', 'agents', 'jobs', 'sessions', 'inbox', 'trace'] as const;
export type Topic = (typeof TOPICS)[number];

export type StreamLine =
  | { readonly type: 'hello'; readonly at: Time; readonly topics: readonly Topic[] }
  /** Every ten seconds: the connection lives. Older than 25 s: show the gateway as gone. */
  | { readonly type: 'beat'; readonly at: Time; readonly running: number }
  /** A call began or ended; the same `call_id` again replaces the row. */
  | { readonly type: 'call'; readonly call: CallRow }
  /** With `topics=trace&trace=<trace_id>`: an event of a call of this trace. */
  | {
      readonly type: 'event';
      readonly trace_id: string;
      readonly call_id: string;
      readonly event: FabricEvent;
    }
  /** Health, tools or instances changed; `agent` is absent when it is gone. */
  | { readonly type: 'agent'; readonly agent_id: string; readonly agent?: AgentRow }
  | { readonly type: 'job'; readonly job: JobView }
  /** With `topics=sessions&session=<id>` also when its context changed; without `session_id`: the list did. */
  | { readonly type: 'session'; readonly session_id?: string }
  /** The number of things that wait for this person changed. */
  | { readonly type: 'inbox'; readonly count: number }
  /** Lines were lost, or something changed that is too much for lines. */
  | { readonly type: 'reload'; readonly topics: readonly Topic[] }
  /** The last line: the session or its credential ended (`signed_out`), or the gateway stops (`closing`). */
  | { readonly type: 'end'; readonly reason: 'signed_out' | 'closing' };
