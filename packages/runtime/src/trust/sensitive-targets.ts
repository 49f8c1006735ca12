// Places where credentials are kept. Reading one is what a misled agent does first.

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
