import type { X11Info } from "ssh2";

/** A checked `x11-req`. */
export interface X11Ask {
  /** Authentication protocol: `MIT-MAGIC-COOKIE-1`. */
  readonly protocol: string;
  /** Hexadecimal; a secret, although the client made it up. */
  readonly cookie: string;
  readonly screen: number;
  /** Only one connection is accepted. */
  readonly single: boolean;
}

/** Longest cookie, hexadecimal digits. */
const longestCookie = 512;

/** Undefined for values that xauth(1) would reject: they become lines of its input. Pure. */
export function parseX11Ask(info: Partial<X11Info>): X11Ask | undefined {
  const { protocol = "", cookie = "", screen = 0, single = false } = info as Partial<Record<keyof X11Info, unknown>>;
  const text = Buffer.isBuffer(cookie) ? cookie.toString("latin1") : String(cookie);
  if (!/^[A-Za-z0-9-]{1,64}$/.test(String(protocol))) return undefined;
  if (!/^(?:[0-9A-Fa-f]{2})+$/.test(text) || text.length > longestCookie) return undefined;
  if (typeof screen !== "number" || !Number.isInteger(screen) || screen < 0 || screen > 400) return undefined;
  return { protocol: String(protocol), cookie: text, screen, single: single === true };
}
