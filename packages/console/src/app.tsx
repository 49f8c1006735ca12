// The frame around every screen: who is signed in, where one is, and whether what one sees is current.

import { effect, useSignal } from '@preact/signals';
import { Component, type ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { groups, type Screen, screenFor, screens } from './routes.ts';
import { ago, now } from './state/format.ts';
import {
  inboxCount,
  lastLineAt,
  link,
  reconnectNow,
  startStream,
  stopStream,
} from './state/live.ts';
import { navigate, route, toHref } from './state/router.ts';
import { session, signOut } from './state/session.ts';
import { nextTheme, theme } from './state/theme.ts';
import { Help } from './ui/help.tsx';
import { useShortcuts } from './ui/keys.ts';
import { Lazy } from './ui/lazy.tsx';
import { Palette } from './ui/palette.tsx';
import { Button, PageHead, Problem } from './ui/parts.tsx';
import { SignInPage } from './ui/sign-in.tsx';
import { Toasts } from './ui/toasts.tsx';

export function App() {
  const state = session.value;
  useEffect(
    () =>
      effect(() => {
        if (session.value.kind === 'signed_in') startStream();
        else stopStream();
      }),
    [],
  );
  if (state.kind === 'signed_in') return <Frame principal={state.who.principal} />;
  if (state.kind === 'starting') return <p class="starting">Starloom</p>;
  return <SignInPage state={state} />;
}

function Frame({ principal }: { principal: string }) {
  const panel = useSignal<'palette' | 'help' | undefined>(undefined);
  const isMenuOpen = useSignal(false);
  const { path } = route.value;
  const screen = screenFor(path);
  useShortcuts(
    [
      { keys: 'mod+k', does: 'Search and commands', run: () => (panel.value = 'palette') },
      { keys: '?', does: 'Shortcuts', run: () => (panel.value = 'help') },
      {
        keys: '/',
        does: 'Filter, or search',
        run: () => focusFilter(() => (panel.value = 'palette')),
      },
      { keys: 'g g', does: 'Theme: next', run: nextTheme },
      ...screens.map(({ name, title, key }) => ({
        keys: `g ${key}`,
        does: `Go to ${title}`,
        run: () => navigate(toHref([name])),
      })),
    ],
    [],
  );
  useEffect(() => {
    isMenuOpen.value = false;
    document.title = `${screen?.title ?? 'Not found'} · Starloom`;
  }, [path.join('/')]);
  return (
    <div class={`frame ${isMenuOpen.value ? 'menu-open' : ''}`}>
      <header class="side">
        <button type="button" class="button skip" onClick={focusMain}>
          Skip to the content
        </button>
        <div class="brand">
          <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
            <rect width="32" height="32" rx="7" class="brand-ground" />
            <path d="M7 10c6 0 12 12 18 12M7 22c6 0 12-12 18-12M7 16h18" class="brand-threads" />
            <circle cx="16" cy="16" r="3.2" class="brand-star" />
          </svg>
          <strong>Starloom</strong>
          <button
            type="button"
            class="button plain small menu-button"
            aria-expanded={isMenuOpen.value}
            onClick={() => {
              isMenuOpen.value = !isMenuOpen.value;
            }}
          >
            Menu
          </button>
        </div>
        <div class="side-body">
          <button type="button" class="search-button" onClick={() => (panel.value = 'palette')}>
            <span>Search</span> <kbd>Ctrl K</kbd>
          </button>
          <Navigation current={screen?.name} />
          <div class="side-foot">
            <LiveMark />
            <p class="muted small who">
              <bdi>{principal}</bdi>
            </p>
            <p class="side-actions">
              <button type="button" class="link" onClick={nextTheme}>
                Theme: {theme.value}
              </button>
              <button type="button" class="link" onClick={() => (panel.value = 'help')}>
                Keys
              </button>
              <button type="button" class="link" onClick={() => void signOut()}>
                Sign out
              </button>
            </p>
          </div>
        </div>
      </header>
      <main>
        <LostBanner />
        <Guard key={screen?.name}>
          <CurrentScreen screen={screen} />
        </Guard>
      </main>
      <Toasts />
      {panel.value === 'palette' && <Palette onClose={() => (panel.value = undefined)} />}
      {panel.value === 'help' && <Help onClose={() => (panel.value = undefined)} />}
    </div>
  );
}

function Navigation({ current }: { current: string | undefined }) {
  return (
    <nav aria-label="Screens">
      {groups.map((group) => (
        <ul key={group[0]?.name}>
          {group.map(({ name, title, icon }) => (
            <li key={name}>
              <a href={toHref([name])} aria-current={name === current ? 'page' : undefined}>
                <svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true">
                  <path d={icon} />
                </svg>
                {title}
                {name === 'inbox' && (inboxCount.value ?? 0) > 0 && (
                  <span class="count">
                    {inboxCount.value}
                    <span class="visually-hidden"> waiting</span>
                  </span>
                )}
              </a>
            </li>
          ))}
        </ul>
      ))}
    </nav>
  );
}

function LiveMark() {
  const state = link.value;
  const age = Math.max(0, now.value - lastLineAt.value);
  const text =
    state === 'live'
      ? `Live, updated ${ago(age)}`
      : state === 'lost'
        ? 'Not connected'
        : 'Connecting';
  return (
    <p class={`live ${state}`}>
      <span class="dot" aria-hidden="true" /> {text}
    </p>
  );
}

function LostBanner() {
  if (link.value !== 'lost') return <div role="status" />;
  const at = lastLineAt.value;
  return (
    <div role="status">
      <div class="banner">
        <p>
          <strong>The gateway does not answer.</strong>{' '}
          {at > 0 && `What you see is from ${ago(now.value - at)}. `}
          The page reconnects by itself.
        </p>
        <Button onClick={reconnectNow}>Try now</Button>
      </div>
    </div>
  );
}

function CurrentScreen({ screen }: { screen: Screen | undefined }) {
  if (screen !== undefined) return <Lazy name={screen.name} load={screen.load} with={{}} />;
  return (
    <div class="screen">
      <PageHead title="There is no such page." />
      <p>
        <a href={toHref([])}>Go to the overview</a>
      </p>
    </div>
  );
}

/** A screen that breaks says so, and leaves the others usable. */
class Guard extends Component<{ children: ComponentChildren }, { error?: unknown }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return <Problem error={error} retry={() => this.setState({ error: undefined })} />;
  }
}

function focusMain(): void {
  document.querySelector<HTMLElement>('main h1')?.focus();
}

function focusFilter(otherwise: () => void): void {
  const field = document.querySelector<HTMLElement>('main [data-filter]');
  if (field === null) otherwise();
  else field.focus();
}
