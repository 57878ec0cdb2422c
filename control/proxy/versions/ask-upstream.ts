import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Env } from "../../../core/transport/dial/choose-proxy.ts";
import { httpsGet } from "../../../core/transport/dial/https-get.ts";
import { criticalOf, maxAnswerBytes, versionOf } from "./upstream-answer.ts";

/** What another version server says. */
export interface UpstreamAnswer {
  /** `v1.2.3`, or `none`. */
  readonly version: string;
  /** Undefined: it could not be learnt, while the version could. */
  readonly critical: boolean | undefined;
}

/** Asks one version server. Throws PlatformError. */
export type AskUpstream = (url: string, signal: AbortSignal) => Promise<UpstreamAnswer>;

/** For one question, ms. */
const limitMs = 10_000;

/** Both questions at once, each over a connection of its own; `ca` replaces what this machine trusts (PEM). */
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
  return new PlatformError("unavailable", "answered with a page, which is no version", { cause: reason });
}
