// Fields, choices and forms of every screen.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';
import type { Action } from '../state/action.ts';
import { replaceQuery } from '../state/router.ts';
import { Button, Problem } from './parts.tsx';
import { oneLine } from './plain-text.ts';

export const TIERS = ['local', 'org', 'partner', 'public'] as const;

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
      {action.error !== undefined && <Problem error={action.error} />}
      <div class="buttons">
        {props.buttons}
        <Button kind={props.kind ?? 'main'} type="submit" busy={action.isBusy}>
          {props.submit}
        </Button>
        {props.after}
      </div>
    </form>
  );
}

export function TextField(props: {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: string;
  required?: boolean;
  type?: 'text' | 'password';
  /** Of several lines: prose, or code. */
  lines?: 'prose' | 'code';
  problem?: string | undefined;
}) {
  const id = useId();
  const note = props.problem ?? props.hint;
  const shared = {
    id,
    value: props.value,
    required: props.required,
    spellcheck: props.lines === 'prose',
    'aria-describedby': note ? `${id}-note` : undefined,
    'aria-invalid': props.problem ? true : undefined,
    onInput: (event: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
      props.set(event.currentTarget.value),
  };
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.lines === undefined ? (
        <input {...shared} type={props.type ?? 'text'} autocomplete="off" />
      ) : (
        <textarea {...shared} dir="auto" class={props.lines === 'code' ? 'mono' : ''} />
      )}
      {note && (
        <p class={props.problem ? 'wrong' : 'hint'} id={`${id}-note`}>
          {note}
        </p>
      )}
    </div>
  );
}

export function PickField(props: {
  label: string;
  value: string;
  options: readonly string[];
  set: (value: string) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <select
        id={id}
        required
        value={props.value}
        onChange={(event) => props.set(event.currentTarget.value)}
      >
        {!props.options.includes(props.value) && (
          <option value={props.value}>{props.value || 'Choose…'}</option>
        )}
        {props.options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </div>
  );
}

/** A choice that narrows a list; its first option does not. */
export function FilterChoice(props: {
  label: string;
  value: string;
  any: string;
  options: Readonly<Record<string, string>>;
  set: (value: string | undefined) => void;
}) {
  return (
    <select
      aria-label={props.label}
      data-filter=""
      value={props.value}
      onChange={(event) => props.set(event.currentTarget.value || undefined)}
    >
      <option value="">{props.any}</option>
      {Object.entries(props.options).map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  );
}

export function FilterText(props: {
  label: string;
  placeholder?: string;
  value: string;
  set: (value: string) => void;
}) {
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
export function TypedFilter(props: { name: string; label: string; value: string }) {
  const typed = useSignal('');
  const due = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isTyping = due.current !== undefined || typed.value.trim() === props.value;
  const type = (text: string) => {
    typed.value = text;
    clearTimeout(due.current);
    due.current = setTimeout(() => {
      due.current = undefined;
      replaceQuery({ [props.name]: text.trim() || undefined });
    }, TYPING_MS);
  };
  return (
    <FilterText
      label={props.label}
      value={isTyping ? typed.value : oneLine(props.value)}
      set={type}
    />
  );
}

export function Check(props: { label: string; checked: boolean; set: (checked: boolean) => void }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(event) => props.set(event.currentTarget.checked)}
      />
      {props.label}
    </label>
  );
}

/** One of a few, side by side. */
export function Segments<Name extends string>(props: {
  legend: string;
  current: Name;
  titles: Readonly<Record<Name, string>>;
  set: (name: Name) => void;
}) {
  const group = useId();
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{props.legend}</legend>
      {(Object.keys(props.titles) as Name[]).map((name) => (
        <label key={name}>
          <input
            type="radio"
            name={group}
            checked={name === props.current}
            onChange={() => props.set(name)}
          />
          <span>{props.titles[name]}</span>
        </label>
      ))}
    </fieldset>
  );
}
