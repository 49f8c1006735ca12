// Fields, choices and forms of every screen.

import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';
import type { Action } from '../state/action.ts';
import { replaceQuery, route } from '../state/router.ts';
import { Button, Problem } from './parts.tsx';
import { oneLine } from './plain-text.ts';

export const TIERS = ['local', 'org', 'partner', 'public'] as const;

interface Bound<T> {
  readonly value: T;
  readonly set: (value: T) => void;
}

/** A field whose value a signal keeps: `<TextField label="Name" {...bound(name)} />`. */
export function bound<T>(signal: Signal<T>): Bound<T> {
  return { value: signal.value, set: (value) => (signal.value = value) };
}

/** The same for a field of a form. */
export function boundIn<Form extends object, Name extends keyof Form>(
  form: Signal<Form>,
  name: Name,
): Bound<Form[Name]> {
  return {
    value: form.value[name],
    set: (value) => (form.value = { ...form.value, [name]: value }),
  };
}

/** Names that are their own titles. */
export function titlesOf<Name extends string>(names: readonly Name[]): Record<Name, string> {
  const titles = names.map((name) => [name, name.replaceAll('_', ' ')]);
  return Object.fromEntries(titles) as Record<Name, string>;
}

/** Fields one below the other, with the button that sends them and why that failed. */
export function ActionForm(props: {
  action: Action;
  submit: string;
  onSubmit: () => Promise<unknown>;
  children: ComponentChildren;
  /** Before and after the button. */
  buttons?: ComponentChildren;
  after?: ComponentChildren;
  kind?: 'main' | 'danger' | 'plain';
}) {
  const { action } = props;
  return (
    <form
      class="stack-form"
      onSubmit={(event) => {
        event.preventDefault();
        void action.run(props.onSubmit);
      }}
    >
      {props.children}
      <Problem error={action.error} />
      <div class="buttons">
        {props.buttons}
        <Button kind={props.kind ?? 'main'} type="submit" action={action}>
          {props.submit}
        </Button>
        {props.after}
      </div>
    </form>
  );
}

/** A label, its field and what to know about it; the field takes what ties them together. */
export function Labelled(props: {
  label: ComponentChildren;
  hint?: string | undefined;
  problem?: string | undefined;
  /** The label is beside the field. */
  isCheck?: boolean;
  children: (ties: object) => ComponentChildren;
}) {
  const id = useId();
  const { label, hint, problem, isCheck = false } = props;
  const field = props.children({
    id,
    'aria-describedby':
      `${hint ? `${id}-hint` : ''} ${problem ? `${id}-wrong` : ''}`.trim() || undefined,
    'aria-invalid': problem ? true : undefined,
  });
  return (
    <div class="field">
      <label for={id} class={isCheck ? 'check' : undefined}>
        {isCheck && field}
        {label}
      </label>
      {!isCheck && field}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="wrong" id={`${id}-wrong`}>
          {problem}
        </p>
      )}
    </div>
  );
}

export function TextField(
  props: Bound<string> & {
    label: string;
    hint?: string;
    required?: boolean;
    type?: 'text' | 'password';
    /** Of several lines: prose, or code. */
    lines?: 'prose' | 'code';
    problem?: string | undefined;
  },
) {
  const { lines } = props;
  const shared = {
    value: props.value,
    required: props.required,
    spellcheck: lines === 'prose',
    onInput: (event: { currentTarget: { value: string } }) => props.set(event.currentTarget.value),
  };
  return (
    <Labelled label={props.label} hint={props.hint} problem={props.problem}>
      {(ties) =>
        lines === undefined ? (
          <input {...ties} {...shared} type={props.type ?? 'text'} autocomplete="off" />
        ) : (
          <textarea {...ties} {...shared} dir="auto" class={lines === 'code' ? 'mono' : ''} />
        )
      }
    </Labelled>
  );
}

export function PickField(props: Bound<string> & { label: string; options: readonly string[] }) {
  const { value, options } = props;
  return (
    <Labelled label={props.label}>
      {(ties) => (
        <select
          {...ties}
          required
          value={value}
          onChange={(event) => props.set(event.currentTarget.value)}
        >
          {!options.includes(value) && <option value={value}>{value || 'Choose…'}</option>}
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

/** A choice in the address that narrows a list; `any` does not. */
export function FilterChoice(props: {
  name: string;
  label: string;
  any?: string;
  initial?: string;
  options: Readonly<Record<string, string>>;
}) {
  const { name, any, initial = '', options } = props;
  return (
    <select
      aria-label={props.label}
      data-filter=""
      value={route.value.query.get(name) ?? initial}
      onChange={(event) => replaceQuery({ [name]: event.currentTarget.value || undefined })}
    >
      {any && <option value="">{any}</option>}
      {Object.entries(options).map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  );
}

export function FilterText(props: Bound<string> & { label: string; placeholder?: string }) {
  return (
    <input
      type="search"
      aria-label={props.label}
      placeholder={props.placeholder ?? props.label}
      data-filter=""
      value={props.value}
      onInput={(event) => props.set(event.currentTarget.value)}
    />
  );
}

const TYPING_MS = 250;

/** Goes to the address when the person pauses; however often the list changes meanwhile, its words stay. */
export function TypedFilter(props: { name: string; label: string }) {
  const given = route.value.query.get(props.name) ?? '';
  const typed = useSignal('');
  const due = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isTyping = due.current !== undefined || typed.value.trim() === given;
  const type = (text: string) => {
    typed.value = text;
    clearTimeout(due.current);
    due.current = setTimeout(() => {
      due.current = undefined;
      replaceQuery({ [props.name]: text.trim() || undefined });
    }, TYPING_MS);
  };
  const value = isTyping ? typed.value : oneLine(given);
  return <FilterText label={props.label} value={value} set={type} />;
}

export function Check(props: Bound<boolean> & { label: string }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.value}
        onChange={(event) => props.set(event.currentTarget.checked)}
      />
      {props.label}
    </label>
  );
}

/** One of a few, side by side. */
export function Segments<Name extends string>(
  props: Bound<Name> & { legend: string; titles: Readonly<Record<Name, string>> },
) {
  const group = useId();
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{props.legend}</legend>
      {(Object.keys(props.titles) as Name[]).map((name) => (
        <label key={name}>
          <input
            type="radio"
            name={group}
            checked={name === props.value}
            onChange={() => props.set(name)}
          />
          <span>{props.titles[name]}</span>
        </label>
      ))}
    </fieldset>
  );
}
