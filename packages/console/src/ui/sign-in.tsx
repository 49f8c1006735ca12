// Without a session there is this page alone. A key that is pasted here is sent once, to this
// gateway, and is kept nowhere in the browser.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { OauthRedirect, SignIn } from '../api-types.ts';
import { GatewayError, send } from '../state/api.ts';
import { keepProof, readWho, type SessionState, signIn } from '../state/session.ts';
import { Button, CodeBlock, Problem } from './parts.tsx';

export function SignInPage({ state }: { state: SessionState }) {
  const key = useSignal('');
  const busy = useSignal(false);
  const ways = useSignal<SignIn | undefined>(undefined);
  const problem = useSignal<unknown>(undefined);
  useEffect(() => {
    document.title = 'Sign in · Starloom';
    // Without a credential the gateway refuses, and says which ways there are.
    send('POST', 'session', { body: {} }).catch((error: unknown) => {
      ways.value = GatewayError.from(error).details.sign_in as SignIn | undefined;
    });
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    busy.value = true;
    await signIn({ bearer: key.value.trim() });
    key.value = '';
    busy.value = false;
  };
  const leave = async (issuer: string) => {
    try {
      const response = await send('POST', 'session', { body: { oauth: { issuer } } });
      const { url, proof } = (await response.json()) as OauthRedirect;
      keepProof(proof);
      location.assign(url);
    } catch (error) {
      problem.value = error;
    }
  };
  if (state.kind === 'unreachable') {
    return (
      <main class="sign-in">
        <h1>Starloom</h1>
        <Problem error={state.why} retry={() => void readWho()} />
      </main>
    );
  }
  const why = state.kind === 'signed_out' ? state.why : undefined;
  return (
    <main class="sign-in">
      <h1>Sign in to Starloom</h1>
      {state.kind === 'signed_out' && state.ended && (
        <p class="note" role="status">
          Your session ended. Sign in again to go on where you were.
        </p>
      )}
      {why && <Problem error={why} />}
      {problem.value !== undefined && <Problem error={problem.value} />}
      <section>
        <h2>With a link</h2>
        <p>On the machine of the gateway, this prints a link that works once:</p>
        <CodeBlock text="starloom console" label="Command that prints a link" />
      </section>
      <form onSubmit={(event) => void submit(event)}>
        <h2>With a key</h2>
        <label for="key">Key</label>
        <input
          id="key"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={key.value}
          onInput={(event) => {
            key.value = event.currentTarget.value;
          }}
        />
        <p class="muted small">It is sent to this gateway once, and not kept in the browser.</p>
        <Button kind="main" type="submit" busy={busy.value}>
          Sign in
        </Button>
      </form>
      {(ways.value?.oauth ?? []).map(({ issuer, name }) => (
        <Button key={issuer} onClick={() => void leave(issuer)}>
          Sign in with {name}
        </Button>
      ))}
    </main>
  );
}
