import { PlatformError } from "../../../core/errors/platform-error.ts";
import { refusalHeader } from "../../../core/kubernetes/refusal-header.ts";
import { canonicalHeader, type HeaderField, isHeaderValue, isOfConnection } from "../../../core/resources/app-headers.ts";
import { namedByConnection } from "../../http/passed-fields.ts";

/** The user and groups that the API server sees. */
export interface KubeIdentity {
  readonly user: string;
  readonly groups: readonly string[];
}

export interface SentFacts {
  /** As the client sent them. */
  readonly headers: readonly HeaderField[];
  readonly identity: KubeIdentity;
  /** IP address of the user; empty when not known. */
  readonly clientIp: string;
  /** The request goes on to a pod, a service or a node: fields for the program there pass too. */
  readonly isProxied: boolean;
  /** The answer will be filtered: it has to be JSON that is not compressed. Default: no. */
  readonly isFiltered?: boolean;
}

/** Fields that mean something to API servers or their clients. All others are dropped. */
const passed = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "cache-control",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-unmodified-since",
  "kubectl-command",
  "kubectl-session",
  "pragma",
  "range",
  "sec-websocket-key",
  "sec-websocket-version",
  "traceparent",
  "tracestate",
  "user-agent",
  "x-stream-protocol-version",
]);

/** Fields for a program behind the API server. */
const proxied = new Set(["cookie", "origin", "referer", "x-csrf-token", "x-csrftoken", "x-requested-with", "x-xsrf-token"]);

/** Sub-protocols that carry a token: the client's would take the place of the agent's. */
const bearerProtocol = /^base64url\.bearer\.authorization\.k8s\.io\./i;

/**
 * The fields with which a request goes to an API server. They are chosen by their names, after those that `Connection` names are gone; then come the
 * user and the groups. The agent's own credentials are added last, by ApiServer. Throws `invalid` for a name of a user or group that no header
 * can carry. Pure.
 */
export function sentHeaders({ headers, identity, clientIp, isProxied, isFiltered = false }: SentFacts): readonly HeaderField[] {
  const dropped = namedByConnection(headers);
  const kept = headers.flatMap(([name, value]): readonly HeaderField[] => {
    const lower = name.toLowerCase();
    // A name with `_` may be read as one with `-`.
    if (name.includes("_") || isOfConnection(name)) return [];
    if (dropped.has(canonicalHeader(name)) && !framing.has(lower)) return [];
    if (lower === "sec-websocket-protocol") return withoutBearer(value);
    if (isFiltered && (lower === "accept" || lower === "accept-encoding")) return [];
    return passed.has(lower) || (isProxied && proxied.has(lower)) ? [[name, value]] : [];
  });
  const filtered: readonly HeaderField[] = isFiltered
    ? [
        ["Accept", acceptedJson(headers)],
        ["Accept-Encoding", "identity"],
      ]
    : [];
  const own: readonly HeaderField[] = [
    ...(clientIp === "" ? [] : [["X-Forwarded-For", clientIp] as const]),
    ["Impersonate-User", identity.user],
    ...identity.groups.map((group) => ["Impersonate-Group", group] as const),
  ];
  const bad = own.find(([, value]) => !isPlainValue(value));
  if (bad !== undefined) throw new PlatformError("denied", `access denied: ${bad[0]} would be ${JSON.stringify(bad[1])}, which headers cannot carry`);
  return [...kept, ...filtered, ...own];
}

/** Fields that `Connection` cannot drop: the message would end elsewhere for the API server than for this agent. */
const framing: ReadonlySet<string> = new Set(["content-length", "expect"]);

function isPlainValue(value: string): boolean {
  return value !== "" && isHeaderValue(value) && value.trim() === value && /^[\x20-\x7e]*$/.test(value);
}

function withoutBearer(value: string): readonly HeaderField[] {
  const protocols = value
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "" && !bearerProtocol.test(one));
  return protocols.length === 0 ? [] : [["Sec-WebSocket-Protocol", protocols.join(", ")]];
}

/** The fields with which a response goes to the client, without the one that marks the agent's own refusals. A redirect to a path of the API server gets the `prefix` of the client's request. Pure. */
export function answeredHeaders(headers: readonly HeaderField[], prefix = ""): readonly HeaderField[] {
  const dropped = namedByConnection(headers);
  return headers.flatMap(([name, value]): readonly HeaderField[] => {
    const canonical = canonicalHeader(name);
    if (isOfConnection(name) || canonical === refusalHeader || (dropped.has(canonical) && canonical !== "content-length")) return [];
    return [canonical === "location" && /^\/(?!\/)/.test(value) ? [name, `${prefix}${value}`] : [name, value]];
  });
}

/**
 * The `Accept` header of a request, reduced to JSON (tables and metadata included), because a filtered answer has to be read. Throws `unsupported` for a
 * client that does not accept JSON. Pure.
 */
function acceptedJson(headers: readonly HeaderField[]): string {
  const accept = headers.filter(([name]) => name.toLowerCase() === "accept").map(([, value]) => value);
  if (accept.length === 0) return "application/json";
  const wanted = accept
    .join(",")
    .split(",")
    .flatMap((range) => {
      const [type = "", ...parameters] = range.split(";").map((one) => one.trim());
      return ["application/json", "application/*", "*/*"].includes(type.toLowerCase()) ? [["application/json", ...parameters].join(";")] : [];
    });
  if (wanted.length > 0) return wanted.join(",");
  throw new PlatformError("unsupported", "the answer has to be filtered by the user's roles, for which the client must accept application/json", {
    hint: "let the client accept application/json too, or give the user a role that allows all objects of the kind",
  });
}
