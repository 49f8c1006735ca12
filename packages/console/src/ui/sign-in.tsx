// Without a session there is this page alone. A key that is pasted here is sent once, to this
// gateway, and is kept nowhere in the browser.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { OauthRedirect, SignIn } from '../api-types.ts';
import { useAction } from '../state/action.ts';
import { GatewayError, send } from '../state/api.ts';
import { keepProof, readWho, type SessionState, signIn } from '../state/session.ts';
import { ActionForm, bound, TextField } from './fields.tsx';
import { Button, CodeBlock, Problem } from './parts.tsx';

export function SignInPage({ state }: { state: SessionState }) {
  const key = useSignal('');
  const signing = useAction();
  const leaving = useAction();
  const ways = useSignal<SignIn | undefined>(undefined);
  useEffect(() => {
    document.title = 'Sign in · Starloom';
    // Without a credential the gateway refuses, and says which ways there are.
    send('POST', 'session', { body: {} }).catch((error: unknown) => {
      ways.value = GatewayError.from(error).details.sign_in as SignIn | undefined;
    });
  }, []);
  const signInByKey = async () => {
    await signIn({ bearer: key.value.trim() });
    key.value = '';
  };
  const leave = async (issuer: string) => {
    const response = await send('POST', 'session', { body: { oauth: { issuer } } });
    const { url, proof } = (await response.json()) as OauthRedirect;
    keepProof(proof);
    location.assign(url);
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
      <Problem error={why} />
      <Problem error={leaving.error} />
      <section>
        <h2>With a link</h2>
        <p>On the machine of the gateway, this prints a link that works once:</p>
        <CodeBlock text="starloom console" label="Command that prints a link" />
      </section>
      <section>
        <h2>With a key</h2>
        <ActionForm action={signing} submit="Sign in" onSubmit={signInByKey}>
          <TextField
            label="Key"
            type="password"
            required
            {...bound(key)}
            hint="It is sent to this gateway once, and not kept in the browser."
          />
        </ActionForm>
      </section>
      {ways.value !== undefined && ways.value.oauth.length > 0 && (
        <section>
          <h2>With your account</h2>
          {ways.value.oauth.map(({ issuer, name }) => (
            <Button key={issuer} action={leaving} does={() => leave(issuer)}>
              Sign in with {name}
            </Button>
          ))}
        </section>
      )}
    </main>
  );
}
