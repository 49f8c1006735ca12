// Whether a text names a host or a name, as a person would who means it.

/** Hosts under which anybody can have a name of their own: naming one names nobody below it. */
const SHARED_HOSTS = new Set(
  (
    'github.io gitlab.io netlify.app vercel.app pages.dev workers.dev r2.dev herokuapp.com fly.dev onrender.com ' +
    'railway.app surge.sh glitch.me repl.co replit.app web.app firebaseapp.com appspot.com run.app ' +
    'amazonaws.com cloudfront.net azurewebsites.net windows.net blogspot.com wordpress.com tumblr.com ' +
    'ngrok.io ngrok.app ngrok-free.app trycloudflare.com loca.lt requestbin.net pipedream.net webhook.site'
  ).split(' '),
);

/** Top-level domains that also end names of files: `readme.md` is a host only where a URL says so. */
const FILE_LIKE = /\.(?:md|rs|py|sh|zip|mov|pl|pm|cc|ps|so|ml|mk|app|lat|bar|tf|st)$/;

/** `text`, in lower case, names the host or one above it that belongs to the same people. */
export function mentionsHost(text: string, host: string): boolean {
  return ownersOf(host).some((owner) => {
    if (!FILE_LIKE.test(owner)) return mentions(text, owner);
    return mentions(text, `://${owner}`) || mentions(text, `://www.${owner}`);
  });
}

/** `name` stands in `text` as a word of its own: `a.example.com` does not mention `example.com`. */
export function mentions(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const before = text.slice(Math.max(0, at - 4), at);
    const after = text.slice(at + name.length, at + name.length + 2);
    if ((name.startsWith(':') || startsWord(before)) && endsWord(after)) return true;
  }
  return false;
}

function ownersOf(host: string): string[] {
  if (/^[\d.]+$|:/.test(host)) return [host];
  const labels = host.split('.');
  const above = labels.slice(1, -1).map((_, index) => labels.slice(index + 1).join('.'));
  const shared = above.findIndex((name) => SHARED_HOSTS.has(name));
  return [host, ...(shared === -1 ? above : above.slice(0, shared))];
}

function startsWord(before: string): boolean {
  return !/[a-z0-9.@-]$/.test(before) || before.endsWith('www.');
}

function endsWord(after: string): boolean {
  return !/^(?:[a-z0-9@-]|\.[a-z0-9])/.test(after);
}
