import { replaceQuery, route } from '../state/router.ts';

/** What the address chooses of a few names; the first one without a choice. */
export function chosen<Name extends string>(
  parameter: string,
  names: readonly [Name, ...Name[]],
): Name {
  const name = route.value.query.get(parameter);
  return names.find((one) => one === name) ?? names[0];
}

/** Views of one screen. The current one is in the address. */
export function Tabs<Name extends string>(props: {
  label: string;
  parameter: string;
  current: Name;
  titles: Readonly<Record<Name, string>>;
}) {
  const names = Object.keys(props.titles) as Name[];
  const pick = (name: Name) => replaceQuery({ [props.parameter]: name });
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = (names.indexOf(props.current) + step + names.length) % names.length;
    const name = names[at];
    if (name === undefined) return;
    pick(name);
    (event.currentTarget as HTMLElement).querySelectorAll('button')[at]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={props.label} onKeyDown={move}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === props.current}
          tabIndex={name === props.current ? 0 : -1}
          onClick={() => pick(name)}
        >
          {props.titles[name]}
        </button>
      ))}
    </div>
  );
}
