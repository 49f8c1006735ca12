import type { ChainLink } from '../api-types.ts';
import { Words } from './words.tsx';

/** Who acts for whom, the principal first. */
export function Chain({ links }: { links: readonly ChainLink[] }) {
  return (
    <ol class="chain" aria-label="Who acts for whom">
      {links.map(({ kind, id, tier }, index) => (
        <li key={`${kind} ${id} ${index}`}>
          <span class="link-box">
            <Words text={id} />{' '}
            <span class="muted small">
              {kind}
              {tier && `, ${tier}`}
            </span>
          </span>
        </li>
      ))}
    </ol>
  );
}
