import { parseVersion } from "../../core/versions/compare-versions.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";

/**
 * The version endpoint's answer, or why there is none. `held`: why the roll-out holds this host, in a sentence; `why`: the channel
 * wants a version that the proxy does not serve.
 */
export type EndpointAnswer =
  | ({ readonly kind: "version"; readonly version: string; readonly critical: boolean } & VersionNotes)
  | { readonly kind: "none"; readonly held?: string; readonly why?: string }
  | { readonly kind: "failed"; readonly reason: UpgradeReason; readonly detail: string };

interface VersionNotes {
  readonly held?: string;
  readonly staleSeconds?: number;
  /** The auth service's signed statement: core/versions/upgrade-statement. */
  readonly signed?: string;
}

/** The relevant parts of an HTTP answer. */
export interface HttpText {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The answer to GET …/version: `v1.2.3` or `none` in plain text, optionally `Platform-Upgrade-Held: <sentence>`,
 * `Platform-Upgrade-Why: <sentence>`, `Platform-Upgrade-Stale: <seconds>` and `Platform-Upgrade-Signed: <statement>`. Never throws.
 */
export function readVersionAnswer({ status, headers, body }: HttpText): EndpointAnswer {
  if (status === 429 || status >= 500)
    return { kind: "failed", reason: "endpoint_unreachable", detail: `the version endpoint answered with status ${status}` };
  const text = body.trim();
  if (status !== 200) return nonsense(`with status ${status}${status === 404 ? ": it does not know the channel" : ""}`);
  const told = headers["platform-upgrade-held"];
  const held = told === undefined ? {} : { held: plainText(told) || "the roll-out has not reached this host" };
  const why = plainText(headers["platform-upgrade-why"] ?? "");
  if (text === "none") return { kind: "none", ...held, ...(why !== "" && { why }) };
  const version = parseVersion(text);
  if (version === undefined) return nonsense(`${JSON.stringify(plainText(text).slice(0, 40))}, which is not a version`);
  const stale = /^\d{1,9}$/.exec(headers["platform-upgrade-stale"] ?? "");
  const signed = headers["platform-upgrade-signed"];
  return {
    kind: "version",
    version: version.text,
    critical: false,
    ...held,
    ...(stale !== null && { staleSeconds: Number(stale[0]) }),
    ...(signed !== undefined && { signed }),
  };
}

/** The answer to GET …/critical: only `yes` means that it is. */
export function readCriticalAnswer({ status, body }: HttpText): boolean {
  return status === 200 && body.trim() === "yes";
}

function nonsense(what: string): EndpointAnswer {
  return { kind: "failed", reason: "version_nonsense", detail: `the version endpoint answered ${what}` };
}

/** A peer's sentence, made safe for a terminal and a log. */
function plainText(text: string): string {
  return text
    .slice(0, 300)
    .replace(/[^\x20-\x7e]/g, "?")
    .trim();
}
