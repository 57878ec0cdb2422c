import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseSshTarget } from "./ssh-target.ts";

/** A source or a target of `tsh scp`. */
export interface ScpPlace {
  /** Undefined: this machine. */
  readonly remote?: { readonly login: string | undefined; readonly host: string };
  /** Empty on a host: the home folder. */
  readonly path: string;
}

/** `[user@]host:path`, else a local path: one that has a slash before its first colon is local, as for scp. Throws `invalid`. */
export function parseScpPlace(text: string): ScpPlace {
  const colon = text.indexOf(":");
  if (colon <= 0 || text.slice(0, colon).includes("/")) {
    if (text === "") throw new PlatformError("invalid", "the path is empty");
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

/** The sources and the target of a copy. All named hosts must be the same one, with the same login. Throws `invalid`. */
export function planScp(words: readonly string[]): ScpPlan {
  const places = words.map(parseScpPlace);
  const target = places.at(-1);
  const sources = places.slice(0, -1);
  const [first] = sources;
  if (target === undefined || first === undefined)
    throw new PlatformError("invalid", "a source and a target are required", { hint: "see: tsh scp --help" });
  const remote = target.remote ?? first.remote;
  if (remote === undefined)
    throw new PlatformError("invalid", "neither the source nor the target is a host", { hint: "name one as [user@]host:path; cp copies here" });
  const wanted = target.remote === undefined ? first.remote : undefined;
  for (const one of sources) {
    if (one.remote?.host === wanted?.host && one.remote?.login === wanted?.login) continue;
    throw new PlatformError(
      "invalid",
      target.remote === undefined ? "all sources must be on one host" : "copying from host to host is not supported",
      {
        hint: "copy in two steps",
      },
    );
  }
  const direction = target.remote === undefined ? "down" : "up";
  return { direction, ...remote, sources: sources.map(({ path }) => path), target: target.path };
}
