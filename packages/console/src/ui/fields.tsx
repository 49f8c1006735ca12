import { useId } from 'preact/hooks';

export function TextField(props: {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: string;
  required?: boolean;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <input
        id={id}
        type="text"
        autocomplete="off"
        spellcheck={false}
        required={props.required}
        value={props.value}
        aria-describedby={props.hint ? `${id}-hint` : undefined}
        onInput={(event) => props.set(event.currentTarget.value)}
      />
      {props.hint && (
        <p class="hint" id={`${id}-hint`}>
          {props.hint}
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
        {!props.options.includes(props.value) && <option value="">Choose…</option>}
        {props.options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </div>
  );
}
