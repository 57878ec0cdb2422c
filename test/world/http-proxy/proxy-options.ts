/** Where a real HTTP proxy of the tests listens, and who may use it. */
export interface ProxyOptions {
  /** Not loopback: our programs refuse a proxy there. */
  readonly address: string;
  /** Network namespace to run in; needs root. */
  readonly netns?: string;
  readonly user?: string;
  readonly password?: string;
}

/** `scheme://user:password@address:port` with the credentials percent-encoded. */
export function proxyUrl(scheme: "http" | "https", { user, password }: { user: string; password: string }, address: string): string {
  return `${scheme}://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${address}`;
}
