// Native dialogs: the browser keeps the focus inside, closes on Escape, and gives the focus back.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useAction } from '../state/action.ts';
import { Button, Problem } from './parts.tsx';

export function Dialog(props: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={props.class}
      aria-labelledby={title}
      onClose={props.onClose}
      closedby="any"
    >
      <div class="dialog-body">
        <header>
          <h2 id={title}>{props.title}</h2>
          <button
            type="button"
            class="button plain small"
            onClick={() => box.current?.close()}
            aria-label="Close"
          >
            ✕
          </button>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}

export interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  readonly children: ComponentChildren;
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks before something that cannot be taken back; shows why it failed, and stays then. */
export function Confirm(props: ConfirmProps & { readonly onClose: () => void }) {
  const confirming = useAction();
  const confirm = async () => {
    await props.onConfirm();
    props.onClose();
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      {props.children}
      <Problem error={confirming.error} />
      <footer>
        <Button onClick={props.onClose}>Cancel</Button>
        <Button kind="danger" action={confirming} does={confirm}>
          {props.action}
        </Button>
      </footer>
    </Dialog>
  );
}

/** A button that asks first. */
export function ConfirmButton(
  props: ConfirmProps & {
    /** On the button, where it differs from `action`. */
    readonly label?: string;
    /** For readers, where several buttons have the same words. */
    readonly name?: string;
    readonly kind?: 'plain' | 'danger';
  },
) {
  const asks = useSignal(false);
  const { label = props.action, name, kind = 'danger' } = props;
  return (
    <>
      <Button kind={kind} aria-label={name} onClick={() => (asks.value = true)}>
        {label}
      </Button>
      {asks.value && <Confirm {...props} onClose={() => (asks.value = false)} />}
    </>
  );
}
