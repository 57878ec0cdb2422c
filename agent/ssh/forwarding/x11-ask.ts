import type { X11Info } from "ssh2";

/** What an `x11-req` wants, once it has been looked at. */
export interface X11Ask {
  /** Of the authentication: `MIT-MAGIC-COOKIE-1`. */
  readonly protocol: string;
  /** Hexadecimal; a secret, if one of the client's own making. */
  readonly cookie: string;
  readonly screen: number;
  /** One connection alone. */
  readonly single: boolean;
}

/** Longest cookie, hexadecimal digits. */
const longestCookie = 512;

/** Undefined for what xauth(1) would not take: what gets here becomes lines of its input. Pure. */
export function parseX11Ask(info: Partial<X11Info>): X11Ask | undefined {
  const { protocol = "", cookie = "", screen = 0, single = false } = info as Partial<Record<keyof X11Info, unknown>>;
  const text = Buffer.isBuffer(cookie) ? cookie.toString("latin1") : String(cookie);
  if (!/^[A-Za-z0-9-]{1,64}$/.test(String(protocol))) return undefined;
  if (!/^(?:[0-9A-Fa-f]{2})+$/.test(text) || text.length > longestCookie) return undefined;
  if (typeof screen !== "number" || !Number.isInteger(screen) || screen < 0 || screen > 400) return undefined;
  return { protocol: String(protocol), cookie: text, screen, single: single === true };
}
