import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Env } from "../../../core/transport/dial/choose-proxy.ts";
import { httpsGet } from "../../../core/transport/dial/https-get.ts";
import { criticalOf, maxAnswerBytes, versionOf } from "./upstream-answer.ts";

/** Answer of another version server. */
export interface UpstreamAnswer {
  /** `v1.2.3`, or `none`. */
  readonly version: string;
  /** Undefined: only the version is known. */
  readonly critical: boolean | undefined;
}

/** Queries one version server. Throws PlatformError. */
export type AskUpstream = (url: string, signal: AbortSignal) => Promise<UpstreamAnswer>;

/** Time limit of one request, ms. */
const limitMs = 10_000;

/** Sends both requests at once, each over its own connection; `ca` replaces this machine's authorities (PEM). */
export function askUpstreamBy(options: { env: Env; ca?: readonly string[] | undefined; timeoutMs?: number | undefined }): AskUpstream {
  return async (url, signal) => {
    const { hostname, port, protocol, pathname } = new URL(url);
    const plain = protocol === "http:";
    const target = { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? (plain ? 80 : 443) : Number(port) };
    const get = (what: string) =>
      httpsGet(target, `${pathname.replace(/\/$/, "")}/${what}`, {
        env: options.env,
        signal,
        plain,
        timeoutMs: options.timeoutMs ?? limitMs,
        maxBytes: maxAnswerBytes,
        ...(options.ca !== undefined && { ca: options.ca }),
      });
    const [version, critical] = await Promise.allSettled([get("version").then(versionOf), get("critical").then(criticalOf)]);
    if (version.status === "rejected") throw told(version.reason);
    return { version: version.value, critical: critical.status === "fulfilled" ? critical.value : undefined };
  };
}

function told(reason: unknown): unknown {
  if (!(reason instanceof PlatformError) || reason.code !== "limit") return reason;
  return new PlatformError("unavailable", "returned an HTML page instead of a version", { cause: reason });
}
