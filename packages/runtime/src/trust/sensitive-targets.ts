// Places where credentials lie, and searches for them. Reading one is what a misled agent does first.

const PLACES: readonly RegExp[] = [
  /(?:^|\/)\.(?:ssh|aws|gnupg|kube|azure|docker|password-store)(?:\/|$)/,
  /(?:^|\/)\.config\/(?:gcloud|gh|op|hub|rclone)(?:\/|$)/,
  /(?:^|\/)\.(?:netrc|npmrc|pgpass|pypirc|git-credentials|htpasswd|my\.cnf|vault-token)$/,
  /(?:^|\/)\.env(?:\.(?!example|sample|template|dist|schema)[\w-]+)?$/,
  /(?:^|\/)\.(?:bash|zsh|psql|mysql|python|node_repl)_history$/,
  /(?:^|\/)(?:id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys|wallet\.dat|key(?:3|4)\.db|login\.keychain(?:-db)?)$/,
  /(?:^|\/)(?:logins\.json|cookies\.sqlite)$|\/(?:cookies|login data|web data)$/,
  /(?:^|\/)(?:credentials?|secrets?|client_secret|service[-_]account|keystore|passwords?)(?:[-_.][\w-]+)?\.(?:json|ya?ml|toml|ini|txt|xml|csv|env|jks|kdbx?)$/,
  /\/(?:credentials|secrets?)$/,
  /\.(?:p12|pfx|kdbx|jks|keystore|ppk|key|tfstate|tfvars)$/,
  /(?:^|\/)(?!(?:[\w-]*[-_])?(?:ca|cert|certs|certificate|chain|fullchain|bundle|public|pub)\.pem$)[\w.-]*\.pem$/,
  /^\/etc\/(?:shadow|gshadow|sudoers|master\.passwd|passwd|ssl\/private)/,
  /^\/proc\/(?:self|\d+)\/(?:environ|maps|mem)$/,
  /^\/(?:run|var\/run)\/secrets(?:\/|$)/,
  /(?:^|\/)starloom\/client\.json$/,
];

const HUNTS: readonly RegExp[] = [
  /BEGIN [A-Z ]{0,20}PRIVATE KEY/i,
  /aws_secret_access_key|aws_access_key_id|akia/i,
  /(?:^|[^a-z])(?:password|passwd|api[_-]?key|secret[_-]?key|access[_-]?token|private[_-]?key|seed phrase|mnemonic)\s{0,2}(?:[=:|]|\\s|$)/i,
  /(?:^|[^a-z])(?:ghp_|sk-|xox[bp]-|glpat-)/,
  /password_?hash|hashed_?password|secret_?key|access_?token|refresh_?token|private_?key/i,
  /(?:sign-?in|log-?in|verification|security|one-?time|2fa|mfa|recovery|backup) (?:pass)?codes?|\botp\b/i,
];

const MOST_CHARACTERS = 4096;

export interface SensitiveTarget {
  /** What a person who wants it would have written: `.env`, but `.kube/config`. */
  readonly askedAs: string;
  /** For people, without what the text itself may give away. */
  readonly shown: string;
}

/** What in an argument reaches for credentials. */
export function sensitiveTargets(text: string): SensitiveTarget[] {
  if (text.length > MOST_CHARACTERS) return [];
  const paths = [text, ...text.split(/[\s"'`;|&<>()=,]+/)].filter(isSensitivePath);
  const targets = paths.map((path) => ({ askedAs: endOf(path), shown: `credentials (${path})` }));
  if (isSecretHunt(text))
    targets.push({ askedAs: text.trim(), shown: 'credentials, by their look' });
  return targets;
}

/** No path without one of these; prose is full of words like "secrets" and "cookies". */
const PATH_LIKE = /[./\\_]/;

/** A path, a file URL, or `<revision>:<path>`, where credentials lie. */
export function isSensitivePath(path: string): boolean {
  if (path.length > MOST_CHARACTERS || !PATH_LIKE.test(path)) return false;
  const plain = path
    .trim()
    .replace(/^[^/\\:]+:(?!\/\/)/, '')
    .replace(/^file:\/\//i, '')
    .replaceAll('\\', '/')
    .replaceAll(/\/(?:\.?\/)+/g, '/')
    .toLowerCase();
  return PLACES.some((place) => place.test(plain));
}

/** A search for credentials. */
export function isSecretHunt(query: string): boolean {
  return query.length <= 1024 && HUNTS.some((hunt) => hunt.test(query));
}

function endOf(path: string): string {
  const parts = path.trim().split(/[\\/]/).filter(Boolean);
  const file = parts.at(-1) ?? path;
  return /[._]/.test(file) ? file : parts.slice(-2).join('/');
}
