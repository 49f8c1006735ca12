/** The report to be written: its parts in order, and what each one says, line by line. */
export const REPORT: Readonly<Record<string, readonly string[]>> = {
  why: [
    'Agents that share work overwrite each other.',
    'Each of them remembers a different past.',
    'What they need is one context that all of them see.',
  ],
  how: [
    'An agent that writes holds the lock of the context.',
    'Every lock has a number, and the numbers only grow.',
    'A write under an old number is refused.',
  ],
  when: [
    'An agent that dies says nothing.',
    'Its heartbeat is missed, and the others are notified.',
    'What it held is free, and what it wrote stays.',
  ],
};

export const PARTS = Object.keys(REPORT);
