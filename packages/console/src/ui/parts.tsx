// Small parts that every screen is made of.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { NotRunning } from '../api-types.ts';
import type { Action } from '../state/action.ts';
import { GatewayError } from '../state/api.ts';
import { ago, dayAndTime, inUtc, now, timeOfDay, toMs } from '../state/format.ts';
import type { Readable } from '../state/resource.ts';
import { route, takeFocusRequest } from '../state/router.ts';
import { plainText } from './plain-text.ts';
import { notify } from './toasts.tsx';
import { asWords } from './words.tsx';

export type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'quiet';

const GLYPHS: Readonly<Record<Tone, string>> = {
  ok: '●',
  warn: '▲',
  bad: '✕',
  info: '◆',
  quiet: '○',
};

/** Colour is never alone: a shape and a word say the same. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      <span aria-hidden="true">{GLYPHS[tone]}</span> {children}
    </span>
  );
}

const STATES: Readonly<Record<Tone, readonly string[]>> = {
  ok: ['ok', 'online', 'succeeded', 'active', 'allow', 'closed', 'connected'],
  info: ['running', 'starting', 'queued'],
  warn: ['half-open', 'awaiting_input', 'degraded', 'degrade', 'draining', 'ask', 'suspended'],
  bad: ['error', 'failed', 'offline', 'open', 'expired', 'revoked', 'deny'],
  quiet: [],
};

export function Status({ value, label }: { value: string; label?: string | undefined }) {
  const tones = Object.keys(STATES) as Tone[];
  const tone = tones.find((name) => STATES[name].includes(value)) ?? 'quiet';
  return <Badge tone={tone}>{label ?? value.replaceAll('_', ' ')}</Badge>;
}

/** A time for people: how long ago, or the time of day; always with the full one. */
export function Time({ at, style = 'ago' }: { at: string; style?: 'ago' | 'clock' | 'full' }) {
  const ms = toMs(at);
  const full = `${dayAndTime(ms)} (${inUtc(ms)})`;
  const text =
    style === 'clock' ? timeOfDay(ms) : style === 'full' ? dayAndTime(ms) : ago(now.value - ms);
  return (
    <time dateTime={inUtc(ms)} title={full}>
      {text}
    </time>
  );
}

export function Card(props: {
  title?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
  id?: string;
}) {
  return (
    <section class={`card ${props.class ?? ''}`} id={props.id}>
      {props.title !== undefined && (
        <header>
          <h2>{props.title}</h2>
          {props.actions}
        </header>
      )}
      {props.children}
    </section>
  );
}

export function Button(
  props: JSX.HTMLAttributes<HTMLButtonElement> & {
    kind?: 'main' | 'danger' | 'plain';
    /** What a click does, one at a time; `action` keeps why it failed. */
    action?: Action;
    does?: () => Promise<unknown>;
    type?: 'button' | 'submit';
    disabled?: boolean | undefined;
    children: ComponentChildren;
  },
) {
  const { kind = 'plain', action, does, children, ...rest } = props;
  const isBusy = action?.isBusy ?? false;
  return (
    <button
      type="button"
      {...(does && { onClick: () => void action?.run(does) })}
      {...rest}
      class={`button ${kind}`}
      aria-busy={isBusy}
      disabled={isBusy || props.disabled}
    >
      {children}
    </button>
  );
}

export function Copy({ text, label = 'Copy' }: { text: () => string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setDone(true);
      notify('ok', 'Copied to the clipboard.');
      setTimeout(setDone, 1500, false);
    } catch {
      notify('bad', 'The browser did not allow copying. Select the text and copy it yourself.');
    }
  };
  return (
    <button type="button" class="button plain small" onClick={copy}>
      {done ? 'Copied' : label}
    </button>
  );
}

/** A long text scrolls, so it can be reached with the keyboard. */
export function TextBox(props: { text: string; label: string; class: string }) {
  return (
    <section class={`text-box ${props.class}`} aria-label={props.label} tabIndex={0}>
      <pre dir="auto">{plainText(props.text)}</pre>
    </section>
  );
}

export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      <TextBox class="code-text" text={text} label={label} />
      <Copy text={() => text} />
    </div>
  );
}

export function Json({ value, label }: { value: unknown; label: string }) {
  return <CodeBlock text={JSON.stringify(value, null, 2) ?? 'undefined'} label={label} />;
}

/** An empty list says what would be here, and how to get it here. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** Nothing without an error. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === undefined) return null;
  const problem = GatewayError.from(error);
  return (
    <div class="problem" role="alert">
      <p>
        <Badge tone="bad">{problem.code}</Badge> <bdi>{plainText(problem.message)}</bdi>
      </p>
      {problem.fix && (
        <p class="fix">
          <strong>Fix:</strong> {plainText(problem.fix)}
        </p>
      )}
      {problem.traceId && (
        <p class="muted small">
          Trace <code>{problem.traceId}</code>
        </p>
      )}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

export function Off({ off }: { off: NotRunning }) {
  return (
    <Empty title={off.message}>
      <p>How to turn it on:</p>
      <CodeBlock text={off.fix} label="How to turn it on" />
    </Empty>
  );
}

/** What a resource has to show: its data, why it has none, or that it is being read. */
export function Loaded<T extends object>(props: {
  from: Readable<T>;
  /** What a person without the scope sees its own of. */
  own?: string | undefined;
  children: (data: T) => ComponentChildren;
}): JSX.Element {
  const { data, off, error, reload } = props.from;
  if (data === undefined && off !== undefined) return <Off off={off} />;
  if (data === undefined && error === undefined) return <Loading />;
  return (
    <>
      {data && props.own && 'scope' in data && data.scope === 'own' && <OwnOnly what={props.own} />}
      <Problem error={error} retry={reload} />
      {data && props.children(data)}
    </>
  );
}

export function Loading() {
  return (
    <div class="loading" role="status" aria-live="polite">
      <span class="visually-hidden">Loading</span>
      <span class="bone" aria-hidden="true" />
      <span class="bone" aria-hidden="true" />
      <span class="bone short" aria-hidden="true" />
    </div>
  );
}

export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  const shown = rows.filter(([, value]) => value !== undefined && value !== null && value !== '');
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{asWords(value, 400)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function PageHead(props: {
  title: ComponentChildren;
  lead?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const place = route.value.path.join('/');
  useEffect(() => {
    if (takeFocusRequest()) heading.current?.focus({ preventScroll: true });
  }, [place]);
  return (
    <div class="page-head">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {props.title}
        </h1>
        {props.lead && <p class="lead">{props.lead}</p>}
      </div>
      {props.children && <div class="actions">{props.children}</div>}
    </div>
  );
}

function OwnOnly({ what }: { what: string }) {
  return (
    <p class="note">
      You see your own {what}. A key with the scope <code>admin:{what}</code> sees those of others
      too.
    </p>
  );
}
