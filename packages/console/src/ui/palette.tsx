// Search and commands: screens, agents and their tools, a call by its trace id, and what one can do.

import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import type { AgentList } from '../api-types.ts';
import { screens } from '../routes.ts';
import { useResource } from '../state/resource.ts';
import { navigate, toHref } from '../state/router.ts';
import { signOut } from '../state/session.ts';
import { THEMES, theme } from '../state/theme.ts';
import { Dialog } from './dialog.tsx';

interface Entry {
  readonly title: string;
  readonly kind: string;
  readonly run: () => void;
}

const MAX_SHOWN = 12;

export function Palette({ onClose }: { onClose: () => void }) {
  const words = useSignal('');
  const at = useSignal(0);
  const list = useId();
  const agents = useResource<AgentList>('agents');
  const found = search(entriesFor(words.value, agents.data), words.value);
  const pick = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) at.value = (at.value + step + found.length) % Math.max(1, found.length);
    else if (event.key === 'Enter') pick(found[at.value]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Search and commands" onClose={onClose} class="palette">
      <input
        type="text"
        role="combobox"
        aria-label="Search and commands"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={found.length > 0 ? `${list}-${at.value}` : undefined}
        placeholder="A screen, an agent, a trace id…"
        autocomplete="off"
        spellcheck={false}
        autoFocus
        value={words.value}
        onInput={(event) => {
          words.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={list} aria-label="Results">
        {found.map((entry, index) => (
          <div
            key={`${entry.kind} ${entry.title}`}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at.value}
            onClick={() => pick(entry)}
            onKeyDown={onKeyDown}
          >
            <bdi>{entry.title}</bdi> <span class="muted">{entry.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="muted">Nothing matches.</p>}
    </Dialog>
  );
}

function entriesFor(words: string, agents: AgentList | undefined): Entry[] {
  const go =
    (...path: string[]) =>
    () =>
      navigate(toHref(path));
  const trace = words.trim().toLowerCase();
  return [
    ...(/^[0-9a-f-]{32,36}$/.test(trace)
      ? [{ title: trace, kind: 'call', run: go('calls', trace) }]
      : []),
    ...screens.map(({ name, title }) => ({ title, kind: 'screen', run: go(name) })),
    ...(agents?.agents ?? []).flatMap(({ agent_id }) => [
      { title: agent_id, kind: 'agent', run: go('agents', agent_id) },
      { title: `Try ${agent_id}`, kind: 'agent', run: go('try', agent_id) },
      {
        title: `Calls of ${agent_id}`,
        kind: 'agent',
        run: () => navigate(toHref(['calls'], { agent: agent_id })),
      },
    ]),
    { title: 'Add an agent', kind: 'command', run: go('agents', 'add') },
    {
      title: 'Failed calls',
      kind: 'command',
      run: () => navigate(toHref(['calls'], { status: 'error' })),
    },
    ...THEMES.map((name) => ({
      title: `Theme: ${name}`,
      kind: 'command',
      run: () => {
        theme.value = name;
      },
    })),
    { title: 'Sign out', kind: 'command', run: () => void signOut() },
  ];
}

/** Every word must occur; titles that start with the first word come first. */
function search(entries: readonly Entry[], words: string): Entry[] {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const first = parts[0] ?? '';
  return entries
    .filter(({ title, kind }) => {
      const text = `${title} ${kind}`.toLowerCase();
      return parts.every((part) => text.includes(part));
    })
    .sort((a, b) => rank(b, first) - rank(a, first))
    .slice(0, MAX_SHOWN);
}

function rank({ title }: Entry, first: string): number {
  return first !== '' && title.toLowerCase().startsWith(first) ? 1 : 0;
}
