/** Prefix of the paths that the proxy itself answers at the host names of applications. */
export const ownPrefix = "/x-platform-";
export const ownPaths = { start: "/x-platform-auth/start", auth: "/x-platform-auth", logout: "/x-platform-logout" } as const;

/** Longest path that a login leads back to, characters. */
const maxPath = 4_096;

/**
 * A path (with query and fragment) of the application's own host, to go on to after a login; `/` for anything that could lead elsewhere: another host, another
 * scheme, a path of our own. Pure.
 */
export function ownPath(text: string, host: string): string {
  // Browsers take a backslash for a slash, and leave out tabs and line ends before they look.
  if (text.length > maxPath || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text)) return "/";
  const base = `https://${host}`;
  if (!URL.canParse(text, base)) return "/";
  const { origin, pathname, search, hash } = new URL(text, base);
  const path = `${pathname}${search}${hash}`;
  const isOwn = origin === new URL(base).origin && !pathname.startsWith("//") && !pathname.toLowerCase().startsWith(ownPrefix);
  return isOwn ? path : "/";
}
