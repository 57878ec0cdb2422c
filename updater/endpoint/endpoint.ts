import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { httpsGet } from "../../core/transport/dial/https-get.ts";
import { trustedRoots } from "../../core/transport/dial/start-tls.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import type { Endpoint } from "../settings.ts";
import { type EndpointAnswer, type HttpText, readCriticalAnswer, readVersionAnswer } from "./endpoint-answer.ts";

export interface EndpointOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** PEM; additional trusted authorities. */
  readonly ca?: string | undefined;
  /** This host, as the cluster knows it: the answer may be for it alone. */
  readonly hostId?: string | undefined;
  /** Timeout of each of the two requests; default 20,000 ms. */
  readonly timeoutMs?: number;
}

/** Maximum answer that is read, bytes. */
const maxBytes = 16_384;

/** Asks for the version and whether it is critical. Throws only for the signal. */
export async function askEndpoint(endpoint: Endpoint, options: EndpointOptions): Promise<EndpointAnswer> {
  try {
    const version = readVersionAnswer(await ask(endpoint, "version", options));
    if (version.kind !== "version") return version;
    return { ...version, critical: await isCritical(endpoint, options) };
  } catch (thrown) {
    options.signal.throwIfAborted();
    return failedAnswer(thrown);
  }
}

/** A version with unknown urgency is not urgent: it waits for its window. */
async function isCritical(endpoint: Endpoint, options: EndpointOptions): Promise<boolean> {
  try {
    return readCriticalAnswer(await ask(endpoint, "critical", options));
  } catch {
    options.signal.throwIfAborted();
    return false;
  }
}

async function ask(endpoint: Endpoint, what: "version" | "critical", options: EndpointOptions): Promise<HttpText> {
  const { env, signal, ca, hostId, timeoutMs = 20_000 } = options;
  const host = hostId === undefined ? "" : `?host=${encodeURIComponent(hostId)}`;
  const trust = ca === undefined ? {} : { ca: [...trustedRoots(), ca] };
  const answer = await httpsGet(endpoint, `${endpoint.path}/${what}${host}`, { env, signal, timeoutMs, maxBytes, ...trust });
  return { status: answer.status, headers: answer.headers, body: answer.body.toString("utf8") };
}

/** Reason for an error of dialling the endpoint. */
export function failedAnswer(thrown: unknown): EndpointAnswer {
  const hint = thrown instanceof PlatformError && thrown.hint !== undefined ? `; ${thrown.hint}` : "";
  const detail = `${errorText(thrown)}${hint}`;
  return { kind: "failed", reason: thrown instanceof PlatformError ? reasonOf(thrown) : "internal", detail };
}

function reasonOf({ code, cause }: PlatformError): UpgradeReason {
  // A proxy's demand for credentials (401, 407) has no cause; a refused certificate has the error of the TLS library.
  if (code === "unauthenticated" && cause !== undefined) return "certificate_wrong";
  // A page instead of a version.
  if (code === "limit") return "version_nonsense";
  return code === "invalid" ? "not_configured" : "endpoint_unreachable";
}
