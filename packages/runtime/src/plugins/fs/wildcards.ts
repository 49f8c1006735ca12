/** `*` is any text, `?` any character. Without a regular expression, so no pattern takes long. */
export function matchesWildcards(name: string, pattern: string): boolean {
  let at = 0;
  let wanted = 0;
  let star = -1;
  let resumeAt = 0;
  while (at < name.length) {
    if (pattern[wanted] === '*') {
      star = wanted;
      resumeAt = at;
      wanted += 1;
    } else if (pattern[wanted] === '?' || pattern[wanted] === name[at]) {
      at += 1;
      wanted += 1;
    } else if (star >= 0) {
      resumeAt += 1;
      at = resumeAt;
      wanted = star + 1;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(wanted));
}
