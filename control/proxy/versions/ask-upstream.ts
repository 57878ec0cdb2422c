import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Env } from "../../../core/transport/dial/choose-proxy.ts";
import { type HttpsAnswer, httpsGet } from "../../../core/transport/dial/https-get.ts";
import { parseVersion } from "../../../core/versions/compare-versions.ts";

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
    if (version.status === "rejected") throw pageRefusal(version.reason);
    return { version: version.value, critical: critical.status === "fulfilled" ? critical.value : undefined };
  };
}

function pageRefusal(reason: unknown): unknown {
  if (!(reason instanceof PlatformError) || reason.code !== "limit") return reason;
  return new PlatformError("unavailable", "returned an HTML page instead of a version", { cause: reason });
}

/** Maximum size of a response, bytes. */
const maxAnswerBytes = 16_384;
/** Maximum length of an answer: anything longer is a page. */
const maxTextBytes = 256;

const words: Readonly<Record<string, boolean>> = { yes: true, true: true, no: false, false: false };

/** `v1.2.3`, or `none` where the server wants no version. Throws `unavailable`: a captive portal's page is not a version. */
export function versionOf(answer: HttpsAnswer): string {
  const text = textOf(answer);
  if (text.toLowerCase() === "none") return "none";
  const version = parseVersion(text);
  if (version === undefined) throw new PlatformError("unavailable", `returned something that is not a version: ${excerpt(text)}`);
  return `v${version.text}`;
}

/** Throws `unavailable` for anything but yes or no. A server without this path (404) means no. */
export function criticalOf(answer: HttpsAnswer): boolean {
  if (answer.status === 404) return false;
  const text = textOf(answer);
  const critical = words[text.toLowerCase()];
  if (critical === undefined) throw new PlatformError("unavailable", `returned neither yes nor no: ${excerpt(text)}`);
  return critical;
}

function textOf({ status, headers, body }: HttpsAnswer): string {
  if (status !== 200) {
    const away = status >= 300 && status < 400 ? " (redirects are not followed)" : "";
    throw new PlatformError("unavailable", `answered with HTTP status ${status}${away}`);
  }
  if (body.length > maxTextBytes)
    throw new PlatformError("unavailable", `answered with ${body.length} bytes of ${headers["content-type"] ?? "something"}`);
  return body.toString("latin1").trim();
}

/** For the log: a peer's text cannot forge a line or fill it. */
function excerpt(text: string): string {
  return JSON.stringify(text.slice(0, 40).replace(/[^ -~]/g, "?"));
}
