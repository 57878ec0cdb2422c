/** Cookies of ours begin with this: the browser itself refuses such a name from another host, from a sub-domain, and without TLS. */
export const ownCookiePrefix = "__Host-platform_";

/** Session of a browser with this site: `<id>.<secret>`. */
export const sessionCookie = `${ownCookiePrefix}session`;

/** Most bytes of a Cookie header that are read. */
const maxHeader = 65_536;

/** The value of the one cookie of this name. Undefined: there is none, or more than one, of which one cannot be ours. */
export function cookieValue(header: string | undefined, name: string): string | undefined {
  const values = cookiePairs(header).flatMap((pair) => (pair.name === name ? [pair.value] : []));
  return values.length === 1 ? values[0] : undefined;
}

/** Names and values of a Cookie header, as they are written. */
export function cookiePairs(header: string | undefined): readonly { readonly name: string; readonly value: string }[] {
  if (header === undefined || header.length > maxHeader) return [];
  return header.split(";").flatMap((pair) => {
    const equals = pair.indexOf("=");
    return equals < 0 ? [] : [{ name: pair.slice(0, equals).trim(), value: pair.slice(equals + 1).trim() }];
  });
}

/** A Cookie header without our own cookies. Undefined: nothing is left. */
export function withoutOwnCookies(header: string): string | undefined {
  const left = header.split(";").filter((pair) => !pair.trim().toLowerCase().startsWith(ownCookiePrefix.toLowerCase()));
  const text = left
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "")
    .join("; ");
  return text === "" ? undefined : text;
}

export interface CookieOptions {
  readonly sameSite: "Strict" | "Lax" | "None";
  /** Seconds; 0 removes the cookie. Left out: until the browser ends. */
  readonly maxAge?: number;
}

/** A Set-Cookie header. The value is one of ours: letters, digits and `._-`. */
export function setCookie(name: string, value: string, { sameSite, maxAge }: CookieOptions): string {
  const age = maxAge === undefined ? "" : `; Max-Age=${maxAge}`;
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=${sameSite}${age}`;
}
