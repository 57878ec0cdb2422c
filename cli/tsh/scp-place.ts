import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseSshTarget } from "./ssh-target.ts";

/** A source or a target of `tsh scp`. */
export interface ScpPlace {
  /** Undefined: this machine. */
  readonly remote?: { readonly login: string | undefined; readonly host: string };
  /** Empty on a host: the home. */
  readonly path: string;
}

/** `[user@]host:path`, else a local path: one that has a slash before its first colon is local, as for scp. Throws `invalid`. */
export function parseScpPlace(text: string): ScpPlace {
  const colon = text.indexOf(":");
  if (colon <= 0 || text.slice(0, colon).includes("/")) {
    if (text === "") throw new PlatformError("invalid", "an empty path names nothing");
    return { path: text };
  }
  const { login, host } = parseSshTarget(text.slice(0, colon));
  return { remote: { login, host }, path: text.slice(colon + 1) };
}

export interface ScpPlan {
  readonly direction: "up" | "down";
  readonly login: string | undefined;
  readonly host: string;
  readonly sources: readonly string[];
  readonly target: string;
}

/** What is copied from where to where. All hosts named must be the same one, with the same login. Throws `invalid`. */
export function planScp(words: readonly string[]): ScpPlan {
  const places = words.map(parseScpPlace);
  const target = places.at(-1);
  const sources = places.slice(0, -1);
  const [first] = sources;
  if (target === undefined || first === undefined)
    throw new PlatformError("invalid", "name what to copy, and where to", { hint: "see: tsh scp --help" });
  const remote = target.remote ?? first.remote;
  if (remote === undefined) throw new PlatformError("invalid", "neither side is a host", { hint: "name one as [user@]host:path; cp copies here" });
  const wanted = target.remote === undefined ? first.remote : undefined;
  for (const one of sources) {
    if (one.remote?.host === wanted?.host && one.remote?.login === wanted?.login) continue;
    throw new PlatformError("invalid", target.remote === undefined ? "all sources must be on one host" : "from host to host nothing is copied", {
      hint: "copy in two steps",
    });
  }
  const direction = target.remote === undefined ? "down" : "up";
  return { direction, ...remote, sources: sources.map(({ path }) => path), target: target.path };
}
