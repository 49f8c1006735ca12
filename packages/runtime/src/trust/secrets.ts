// Secrets by their shape, and paths where credentials are kept: a misled agent reads those first.

const SHAPES: Readonly<Record<string, RegExp>> = {
  'private key': /-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----/,
  'AWS key': /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/,
  'GitHub token': /\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}/,
  'GitLab token': /\bglpat-[A-Za-z0-9_-]{16,}/,
  'Slack token': /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/,
  'Google key': /\bAIza[A-Za-z0-9_-]{30,}/,
  'npm token': /\bnpm_[A-Za-z0-9]{30,}/,
  'API key': /\b(?:sk|pk|rk)[-_](?:[a-z]{2,10}[-_]){0,3}[A-Za-z0-9]{16,}/,
  JWT: /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/,
  'URL with a password': /\b[a-z][a-z0-9+]{1,15}:\/\/[^\s:/@]{1,64}:[^\s:/@]{3,128}@/i,
  'named secret':
    /\b[A-Za-z0-9_-]{0,40}(?:secret|token|passw(?:or)?d|passphrase|api[_-]?key|credential)s?["']?\s{0,3}[=:]\s{0,3}["']?[^\s"'&,;<>{}()[\]]{8,}/i,
};

/** Every shape has one of these in it: most texts are done with after one quick look. */
const HINT =
  /BEGIN |AKIA|ASIA|gh[pousr]_|github_pat|glpat-|xox|AIza|npm_|[spr]k[-_]|eyJ|:\/\/[^/\s]*@|secret|token|passw|passphrase|api[_-]?key|credential/i;

/** What in `text` is shaped like a credential, one of each kind. */
export function findSecrets(text: string): { readonly kind: string; readonly value: string }[] {
  if (!HINT.test(text)) return [];
  return Object.entries(SHAPES).flatMap(([kind, shape]) => {
    const value = shape.exec(text)?.[0];
    return value === undefined ? [] : [{ kind, value }];
  });
}

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

const MOST_CHARACTERS = 4096;

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
