import { platformCookiePrefix } from "../../../core/resources/app-headers.ts";

const prefix = platformCookiePrefix.toLowerCase();

/** A Cookie header without the platform's cookies; undefined when nothing is left. Pure. */
export function withoutPlatformCookies(values: readonly string[]): string | undefined {
  const kept = values
    .flatMap((value) => value.split(";"))
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "" && !isOurs(pair));
  return kept.length === 0 ? undefined : kept.join("; ");
}

/**
 * A Set-Cookie header as the client may get it: undefined for a cookie with a name of the platform; without a `Domain` that reaches beyond the
 * application's own host. Pure.
 */
export function allowedSetCookie(value: string, host: string): string | undefined {
  const [pair = "", ...attributes] = value.split(";");
  if (isOurs(pair.trim())) return undefined;
  const kept = attributes.filter((attribute) => {
    const [, name = "", given = ""] = /^\s*([^=\s]*)\s*(?:=\s*(.*?)\s*)?$/s.exec(attribute) ?? [];
    return name.toLowerCase() !== "domain" || given.replace(/^\./, "").toLowerCase() === host;
  });
  return [pair, ...kept].join(";");
}

/** What `"*"` means without cookies (Clear Site Data, 3.1). */
const allButCookies = '"cache", "storage", "executionContexts"';

/**
 * A Clear-Site-Data header as the client may get it, without what clears cookies: a browser clears those of all hosts below the same domain then, the
 * platform's among them. Undefined when nothing is left. Pure.
 */
export function allowedClearSiteData(value: string): string | undefined {
  const kept = value
    .split(",")
    .map((type) => type.trim())
    .map((type) => (type === '"*"' ? allButCookies : type))
    .filter((type) => type !== "" && !/cookies|\*/i.test(type));
  return kept.length === 0 ? undefined : kept.join(", ");
}

/** A browser takes a cookie without a name for one whose name is its value. */
function isOurs(pair: string): boolean {
  return pair
    .replace(/^[=\s]+/, "")
    .toLowerCase()
    .startsWith(prefix);
}
