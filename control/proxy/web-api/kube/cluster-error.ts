import { z } from "zod";
import { mfaRequiredAt } from "../../../../core/access/session-mfa.ts";
import { type ErrorCode, PlatformError } from "../../../../core/errors/platform-error.ts";

/** The member of a Status (apimachinery, meta/v1) that is for people. */
const statusSchema = z.object({ message: z.string() });
/** Longest message that is passed on, characters. */
const maxMessage = 1_000;

/** No `unauthenticated`: that would be the browser's own session. */
const codes: Readonly<Record<number, ErrorCode>> = {
  400: "invalid",
  401: "denied",
  403: "denied",
  404: "not_found",
  406: "unsupported",
  409: "conflict",
  410: "conflict",
  422: "invalid",
  429: "limit",
  504: "timeout",
};

/** An answer other than 200. */
export interface RefusingAnswer {
  readonly status: number;
  readonly body: string;
  /** The code that the agent has marked its own refusal with; undefined: it is the API server's. */
  readonly agentCode?: string | undefined;
}

/**
 * The refusal of an agent or an API server, in its own words where it has some. Only an agent states that a one-time code is missing, and the words of that are the proxy's: they
 * stand in the dialog that asks for the code. Pure.
 */
export function clusterError(cluster: string, { status, body, agentCode }: RefusingAnswer): PlatformError {
  if (agentCode === "mfa_required") return mfaRequiredAt(`Kubernetes cluster ${cluster}`);
  const code = codes[status] ?? "unavailable";
  const message = messageIn(body) ?? `Kubernetes cluster ${cluster} answered with status ${status}`;
  const hint = code === "denied" ? deniedHint(message) : undefined;
  return new PlatformError(code, message, hint === undefined ? {} : { hint });
}

/** Whether an API server has refused by its own authorization: its words name its user and what it may not do; an agent's say what to do. Pure. */
export function isOfApiServer({ code, message }: Pick<PlatformError, "code" | "message">): boolean {
  return code === "denied" && (/^\S+ is forbidden: User /.test(message) || / cannot \w+ resource /.test(message));
}

function deniedHint(message: string): string | undefined {
  return isOfApiServer({ code: "denied", message })
    ? "the cluster's own RBAC refuses it: an administrator of the cluster grants it by a RoleBinding or ClusterRoleBinding"
    : undefined;
}

function messageIn(body: string): string | undefined {
  const status = statusSchema.safeParse(jsonIn(body));
  return status.success ? lineOf(status.data.message) : undefined;
}

/** A sentence on one line; control characters of a hostile server are none of it. Undefined: there is none. */
function lineOf(message: string): string | undefined {
  const line = message.replaceAll(/[\s\p{C}]+/gu, " ").trim();
  return line === "" ? undefined : line.slice(0, maxMessage);
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
