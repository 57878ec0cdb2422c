/** A field of an HTTP message, as it is written. */
export type HeaderField = readonly [name: string, value: string];

/** Name of the field with the token that names the user to an application. */
export const assertionHeader = "Platform-Jwt-Assertion";
/** Beginning of the names of the platform's cookies: applications neither receive nor set them. */
export const platformCookiePrefix = "__Host-platform_";

/** Fields that concern one connection (RFC 9110 §7.6.1). */
const ofConnection: ReadonlySet<string> = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authentication-info",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Fields that state where a message ends. */
const ofFraming: ReadonlySet<string> = new Set(["content-length", "expect"]);

/** A name as applications may read it: gateways such as WSGI and CGI take `_` for `-`. Pure. */
export function canonicalHeader(name: string): string {
  const lower = name.toLowerCase();
  return lower.includes("_") ? lower.replaceAll("_", "-") : lower;
}

/** Whether a field concerns one connection only. Pure. */
export function isOfConnection(name: string): boolean {
  return ofConnection.has(canonicalHeader(name));
}

/** Whether a field states facts about the user or the way of a request, which only the platform may state. Pure. */
export function isPlatformHeader(name: string): boolean {
  const canonical = canonicalHeader(name);
  if (canonical === "forwarded" || canonical === "x-real-ip" || canonical === "x-forwarded") return true;
  return canonical.startsWith("platform-") || canonical.startsWith("x-forwarded-");
}

/** Whether neither an application's settings nor trailers may set a field. Pure. */
export function isReservedHeader(name: string): boolean {
  return isPlatformHeader(name) || isOfConnection(name) || ofFraming.has(canonicalHeader(name));
}

/**
 * Whether the value of `Upgrade` is a WebSocket alone. A list may hold h2c or TLS, inside of which a client would state what only the platform may; a
 * server need not heed the field (RFC 9110 §7.8). Pure.
 */
export function isWebSocketUpgrade(value: string | undefined): boolean {
  return value?.trim().toLowerCase() === "websocket";
}

/** Whether a text can be the name of a field. Pure. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(name);
}

/** Whether a text can be the value of a field. Pure. */
export function isHeaderValue(value: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  return value.length <= 8_192 && !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value);
}
