// Writes to sockets, put off to the end of the turn of the event loop. Done one right after the other
// they find a reader that is awake, where each on its own would have to wake it up: that alone can cost
// more than all the rest of a call. Nothing waits longer than what else is ready in the same turn.

const due: (() => void)[] = [];

/** Does the work at the end of this turn, together with what else is due then, in order. */
export function atTurnEnd(work: () => void): void {
  if (due.push(work) === 1) setImmediate(flush);
}

/** One that throws keeps no other from its turn. */
function flush(): void {
  const works = due.splice(0);
  let at = 0;
  try {
    for (; at < works.length; at += 1) works[at]?.();
  } finally {
    for (const work of works.slice(at + 1)) atTurnEnd(work);
  }
}
