/** Whether `text` matches a glob: `*` is any run of characters, `?` is one. Linear in both. */
export function matchesGlob(glob: string, text: string): boolean {
  let at = 0;
  let position = 0;
  let star = -1;
  let resume = 0;
  while (position < text.length) {
    if (at < glob.length && (glob[at] === '?' || glob[at] === text[position]) && glob[at] !== '*') {
      at += 1;
      position += 1;
    } else if (glob[at] === '*') {
      star = at;
      resume = position;
      at += 1;
    } else if (star !== -1) {
      at = star + 1;
      resume += 1;
      position = resume;
    } else return false;
  }
  while (glob[at] === '*') at += 1;
  return at === glob.length;
}
