import { Labelled } from './fields.tsx';
import { Button } from './parts.tsx';
import { oneLine, plainText } from './plain-text.ts';
import {
  type FieldKind,
  type FieldSpec,
  isLongName,
  isRecord,
  readJson,
  readNumber,
  Unreadable,
} from './schema.ts';

interface FieldProps {
  readonly field: FieldSpec;
  readonly path: string;
  readonly value: unknown;
  readonly problems: Readonly<Record<string, string>>;
  readonly set: (value: unknown) => void;
}

/** Fields for the properties of an object; the value is the object as it is typed. */
export function SchemaForm(props: {
  fields: readonly FieldSpec[];
  value: Record<string, unknown>;
  problems: Readonly<Record<string, string>>;
  set: (value: Record<string, unknown>) => void;
  path?: string;
}) {
  return (
    <>
      {props.fields.map((field) => {
        const path = props.path ? `${props.path}.${field.name}` : field.name;
        return (
          <Field
            key={field.name}
            field={field}
            path={path}
            value={props.value[field.name]}
            problems={props.problems}
            set={(given) => {
              const { [field.name]: _, ...rest } = props.value;
              props.set(given === undefined ? rest : { ...props.value, [field.name]: given });
            }}
          />
        );
      })}
    </>
  );
}

function Field(props: FieldProps) {
  const { field, path, value, problems, set } = props;
  const title = oneLine(field.title || field.name || 'Item', 80);
  if (field.kind === 'object') {
    return (
      <fieldset class="group">
        <legend>{title}</legend>
        {field.description && <p class="muted small">{oneLine(field.description, 400)}</p>}
        <SchemaForm
          fields={field.fields}
          value={isRecord(value) ? value : {}}
          problems={problems}
          path={path}
          set={set}
        />
      </fieldset>
    );
  }
  if (field.kind === 'list' && field.item !== undefined) {
    return <ListField {...props} item={field.item} title={title} />;
  }
  const isCheck = field.kind === 'boolean';
  const isOptional = !isCheck && !field.isRequired;
  return (
    <Labelled
      label={
        <>
          {title}
          {isOptional && <span class="muted"> (optional)</span>}
        </>
      }
      hint={plainText(field.description).slice(0, 600)}
      problem={problems[path]}
      isCheck={isCheck}
    >
      {(ties) => {
        const common = { ...ties, name: path, 'aria-required': field.isRequired || undefined };
        return <Input field={field} common={common} value={value} set={set} />;
      }}
    </Labelled>
  );
}

function Input(props: Pick<FieldProps, 'field' | 'value' | 'set'> & { common: object }) {
  const { field, common, value, set } = props;
  const shown = String((value instanceof Unreadable ? value.text : value) ?? '');
  switch (field.kind) {
    case 'boolean':
      return (
        <input
          {...common}
          type="checkbox"
          checked={value === true}
          onChange={(event) => set(event.currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <select
          {...common}
          value={field.options.findIndex(
            (option) => JSON.stringify(option.value) === JSON.stringify(value),
          )}
          onChange={(event) => {
            const index = Number(event.currentTarget.value);
            set(index < 0 ? undefined : field.options[index]?.value);
          }}
        >
          <option value={-1}>{field.isRequired ? 'Choose…' : '–'}</option>
          {field.options.map(({ value: option, label }, index) => (
            <option key={JSON.stringify(option)} value={index}>
              {oneLine(label, 80)}
            </option>
          ))}
        </select>
      );
    case 'number':
    case 'integer':
      return (
        <input
          {...common}
          type="text"
          inputMode="decimal"
          value={shown}
          onInput={(event) => set(readNumber(event.currentTarget.value, field.kind === 'integer'))}
        />
      );
    case 'json':
      return (
        <textarea
          {...common}
          class="mono"
          spellcheck={false}
          value={value instanceof Unreadable ? value.text : (JSON.stringify(value, null, 2) ?? '')}
          onChange={(event) => set(readJson(event.currentTarget.value))}
        />
      );
    default: {
      const onInput = (event: { currentTarget: { value: string } }) =>
        set(event.currentTarget.value || undefined);
      if (field.kind === 'long' || isLongName(field.name)) {
        return <textarea {...common} dir="auto" value={shown} onInput={onInput} />;
      }
      const type = field.isSecret ? 'password' : field.inputType;
      return (
        <input
          {...common}
          type={type}
          dir="auto"
          autocomplete="off"
          value={shown}
          onInput={onInput}
        />
      );
    }
  }
}

function ListField(props: FieldProps & { item: FieldSpec; title: string }) {
  const items: readonly unknown[] = Array.isArray(props.value) ? props.value : [];
  const set = (next: readonly unknown[]) => props.set(next.length === 0 ? undefined : next);
  return (
    <fieldset class="group">
      <legend>{props.title}</legend>
      {props.field.description && (
        <p class="muted small">{oneLine(props.field.description, 400)}</p>
      )}
      {items.map((item, index) => (
        <div key={index} class="list-item">
          <Field
            field={{ ...props.item, title: `${props.title} ${index + 1}`, isRequired: true }}
            path={`${props.path}.${index}`}
            value={item}
            problems={props.problems}
            set={(value) => set(items.with(index, value ?? ''))}
          />
          <Button
            onClick={() => set(items.toSpliced(index, 1))}
            aria-label={`Remove ${props.title} ${index + 1}`}
          >
            Remove
          </Button>
        </div>
      ))}
      <div class="buttons">
        <Button onClick={() => set([...items, props.item.initial ?? EMPTY[props.item.kind] ?? ''])}>
          Add {props.title}
        </Button>
      </div>
    </fieldset>
  );
}

/** What a new item of a list is, by its kind; else a text. */
const EMPTY: Partial<Record<FieldKind, unknown>> = {
  object: {},
  boolean: false,
  number: 0,
  integer: 0,
};
