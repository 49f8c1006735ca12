import { signal } from '@preact/signals';
import type { Tone } from './parts.tsx';

interface Toast {
  readonly id: number;
  readonly tone: Tone;
  readonly text: string;
}

const SHOWN_MS = 6000;
const toasts = signal<readonly Toast[]>([]);
let last = 0;

export function notify(tone: Tone, text: string): void {
  last += 1;
  const id = last;
  toasts.value = [...toasts.value.slice(-2), { id, tone, text }];
  setTimeout(() => {
    toasts.value = toasts.value.filter((toast) => toast.id !== id);
  }, SHOWN_MS);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, tone, text }) => (
        <p key={id} class={`toast ${tone}`}>
          {text}
        </p>
      ))}
    </div>
  );
}
