/** A small choice of a person, kept in the browser where that is allowed; else until the page closes. */
export function readKept(name: string): string | null {
  try {
    return localStorage.getItem(`starloom.${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`starloom.${name}`, value);
  } catch {
    // Storage may be switched off.
  }
}
