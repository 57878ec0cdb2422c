/** Values of the named segments of a path. */
export type RouteParams = Readonly<Record<string, string>>;

/**
 * The named segments of a path that a pattern matches, decoded; undefined if it does not match. `/hosts/:id` names one segment, `*` at the end
 * stands for the rest, which is not decoded. A path that cannot be decoded matches nothing. Pure.
 */
export function matchRoute(pattern: string, path: string): RouteParams | undefined {
  const [wanted, given] = [segments(pattern), segments(path)];
  const rest = wanted.at(-1) === "*" ? wanted.length - 1 : undefined;
  if (rest === undefined ? wanted.length !== given.length : given.length < rest) return undefined;
  const params: Record<string, string> = rest === undefined ? {} : { rest: given.slice(rest).join("/") };
  for (const [at, part] of wanted.slice(0, rest).entries()) {
    const value = given[at] ?? "";
    if (!part.startsWith(":")) {
      if (part !== value) return undefined;
      continue;
    }
    const decoded = decode(value);
    if (decoded === undefined || decoded === "") return undefined;
    params[part.slice(1)] = decoded;
  }
  return params;
}

/** A path of a pattern, with its named segments filled in. Pure. */
export function fillRoute(pattern: string, params: RouteParams): string {
  return pattern.replaceAll(/:([a-z]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
}

/** Without empty segments: a slash at the end does not make another path. */
function segments(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "");
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
