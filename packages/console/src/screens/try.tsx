// Call an agent from here: a form from its schema, the answer as it streams, questions answered in
// place, and cancel. It is an ordinary call: scopes, rules, limits and the audit log apply.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type {
  AgentDetail,
  AgentList,
  ApiError,
  GivenInput,
  ToolView,
  TryLine,
  TryRequest,
} from '../api-types.ts';
import { GatewayError, lines, send } from '../state/api.ts';
import { useResource } from '../state/resource.ts';
import { navigate, route, toHref } from '../state/router.ts';
import { who } from '../state/session.ts';
import { tryDraft } from '../state/try-draft.ts';
import { COPY_KINDS, copyAs } from '../ui/copy-as.ts';
import { bound, Check, PickField, TextField } from '../ui/fields.tsx';
import { Button, Card, Copy, Empty, Loaded } from '../ui/parts.tsx';
import { plainText } from '../ui/plain-text.ts';
import { fieldsOf, initialOf, problemsOf, readJson, Unreadable } from '../ui/schema.ts';
import { SchemaForm } from '../ui/schema-form.tsx';
import { Page } from '../ui/screen.tsx';
import { Words } from '../ui/words.tsx';
import { Answer, type Outcome } from './answer.tsx';

export function Try() {
  const [, agentId, capability] = route.value.path;
  const agents = useResource<AgentList>('agents', {}, ({ type }) => type === 'agent');
  return (
    <Page title="Try" lead="An ordinary call, made from here." from={agents}>
      {(data) => {
        if (data.agents.length === 0) {
          return (
            <Empty title="There is no agent to call.">
              <p>
                <a href={toHref(['agents', 'add'])}>Add one</a> first.
              </p>
            </Empty>
          );
        }
        const names = [...new Set(data.agents.map(({ agent_id }) => agent_id))];
        const chosen = agentId ?? '';
        return (
          <>
            <PickField
              label="Agent"
              value={chosen}
              options={names}
              set={(name) => navigate(toHref(['try', name]))}
            />
            {chosen !== '' && <OneAgent key={chosen} id={chosen} capability={capability} />}
          </>
        );
      }}
    </Page>
  );
}

function OneAgent({ id, capability }: { id: string; capability: string | undefined }) {
  const agent = useResource<AgentDetail>(`agents/${encodeURIComponent(id)}`);
  return (
    <Loaded from={agent}>
      {({ capabilities }) => {
        const tool = capabilities.find(({ name }) => name === capability) ?? capabilities[0];
        if (tool === undefined) {
          return <Empty title="This agent offers no tool now." />;
        }
        return (
          <>
            {capabilities.length > 1 && (
              <PickField
                label="Tool"
                value={tool.name}
                options={capabilities.map(({ name }) => name)}
                set={(name) => navigate(toHref(['try', id, name]))}
              />
            )}
            <Trial key={`${id} ${tool.name}`} agentId={id} tool={tool} />
          </>
        );
      }}
    </Loaded>
  );
}

const SHOW_MS = 80;

function Trial({ agentId, tool }: { agentId: string; tool: ToolView }) {
  const fields = fieldsOf(tool.input_schema);
  const draft = useSignal(takeDraft(agentId, tool.name));
  const hasForm = fields.length > 0;
  const value = useSignal<Record<string, unknown>>({
    ...initialOf(fields),
    ...draft.value?.request.arguments,
  });
  const task = useSignal(draft.value?.request.task ?? '');
  const isRaw = useSignal(false);
  const isJob = useSignal(false);
  const raw = useSignal('');
  const problems = useSignal<Record<string, string>>({});
  const outcome = useSignal<Outcome | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const requestNow = (): TryRequest | undefined => {
    const base = {
      agent_id: agentId,
      capability: tool.name,
      ...(isJob.value && { async: true }),
    };
    if (!hasForm && !isRaw.value) return { ...base, task: task.value };
    const given = isRaw.value ? readJson(raw.value) : value.value;
    if (given instanceof Unreadable) {
      problems.value = { '': given.why };
      return undefined;
    }
    problems.value = isRaw.value ? {} : problemsOf(fields, value.value);
    if (Object.keys(problems.value).length > 0) return undefined;
    return { ...base, arguments: (given ?? {}) as Record<string, unknown> };
  };
  const run = async (request: TryRequest) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    let now: Outcome = { startedAt: new Date().toISOString(), events: [], isRunning: true };
    let isDue = false;
    const show = (change: Partial<Outcome>) => {
      now = { ...now, ...change };
      // Tokens arrive faster than anyone reads: a dozen times a second is enough.
      if (isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        outcome.value = now;
      }, SHOW_MS);
    };
    outcome.value = now;
    try {
      const response = await send('POST', 'try', { body: request, signal: controller.signal });
      for await (const line of lines<TryLine>(response)) {
        if (line.type === 'started') show({ traceId: line.trace_id });
        else if (line.type === 'event') show({ events: [...now.events, line.event] });
        else if (line.type === 'result') show({ result: line.result });
        else if (line.type === 'asks') show({ asks: line });
        else show({ error: line.error, ...(line.trace_id && { traceId: line.trace_id }) });
      }
      if (!now.result && !now.asks && !now.error) show({ error: BROKEN });
    } catch (problem) {
      if (controller.signal.aborted) show({ wasCancelled: true });
      else {
        const { code, message, details } = GatewayError.from(problem);
        show({ error: { code, message, details } });
      }
    } finally {
      show({ isRunning: false });
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const request = requestNow();
    if (request !== undefined) void run(request);
    else
      requestAnimationFrame(() => document.querySelector<HTMLElement>('[aria-invalid]')?.focus());
  };
  const answer = (inputs: readonly GivenInput[]) => {
    const { asks } = outcome.value ?? {};
    return run({
      agent_id: agentId,
      capability: tool.name,
      ...(asks && { conversation_id: asks.conversation_id }),
      inputs,
    });
  };
  const url = who()?.gateway.url ?? location.origin;
  const forCopy = () => requestNow() ?? { agent_id: agentId, capability: tool.name };
  return (
    <div class="two">
      <Card
        title={<Words text={tool.title ?? tool.name} limit={100} />}
        actions={
          hasForm && (
            <Check
              label="As JSON"
              value={isRaw.value}
              set={(isSet) => {
                isRaw.value = isSet;
                if (isSet) raw.value = JSON.stringify(value.value, null, 2);
              }}
            />
          )
        }
      >
        {tool.description && <p class="said small">{plainText(tool.description)}</p>}
        {draft.value && !draft.value.isWhole && (
          <p class="note">The journal keeps no arguments, so the form starts empty.</p>
        )}
        <form class="stack-form" onSubmit={submit} noValidate>
          {isRaw.value ? (
            <TextField
              label="Arguments"
              lines="code"
              {...bound(raw)}
              problem={problems.value['']}
            />
          ) : hasForm ? (
            <SchemaForm fields={fields} problems={problems.value} {...bound(value)} />
          ) : (
            <TextField
              label="Task"
              lines="prose"
              {...bound(task)}
              hint="The agent declares no schema: it gets this text."
            />
          )}
          {who()?.parts.jobs && (
            <Check
              label="As a job: stored first, and not lost when the page or the gateway closes"
              {...bound(isJob)}
            />
          )}
          <div class="buttons">
            <Button kind="main" type="submit" disabled={outcome.value?.isRunning}>
              Run
            </Button>
            {outcome.value?.isRunning && (
              <Button kind="danger" onClick={() => running.current?.abort()}>
                Cancel
              </Button>
            )}
            {COPY_KINDS.map((kind) => (
              <Copy
                key={kind}
                label={`Copy as ${kind}`}
                text={() => copyAs(kind, forCopy(), url)}
              />
            ))}
          </div>
        </form>
      </Card>
      <Card title="Answer">
        {outcome.value === undefined ? (
          <p class="muted">The answer streams here.</p>
        ) : (
          <Answer outcome={outcome.value} agentId={agentId} onAnswer={answer} />
        )}
      </Card>
    </div>
  );
}

const BROKEN: ApiError = {
  code: 'UPSTREAM_ERROR',
  message: 'The connection closed before the call ended.',
  details: { fix: 'Look for the call on the screen Calls: it may have gone on.' },
};

function takeDraft(agentId: string, capability: string) {
  const draft = tryDraft.value;
  if (draft?.request.agent_id !== agentId || draft.request.capability !== capability)
    return undefined;
  tryDraft.value = undefined;
  return draft;
}
