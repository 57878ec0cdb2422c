import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { KubeVerb } from "../../../core/resources/kube-rule.ts";

export const methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;
export type Method = (typeof methods)[number];

export function isRead(method: Method): boolean {
  return method === "GET" || method === "HEAD";
}

/** Subresources of pods with verbs of their own, whatever the method: a WebSocket for `exec` is a GET. */
const podVerbs: Readonly<Record<string, KubeVerb>> = {
  exec: "exec",
  attach: "exec",
  portforward: "portforward",
  eviction: "delete",
  binding: "update",
};

interface VerbFacts {
  readonly method: Method;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Whether the client wants to change the protocol of the connection. */
  readonly isUpgrade: boolean;
  readonly isWatch: boolean;
  /** Whether it names no object. */
  readonly isMany: boolean;
}

/** All that a request does to objects; its subresource takes precedence over its method. Throws `invalid` for a method that objects do not have. Pure. */
export function requestVerbs({ method, group, resource, subresource, isUpgrade, isWatch, isMany }: VerbFacts): readonly [KubeVerb, ...KubeVerb[]] {
  if (method === "OPTIONS") throw new PlatformError("invalid", "the method OPTIONS is for proxied requests alone");
  if (group === "" && resource === "pods") {
    const own = Object.hasOwn(podVerbs, subresource) ? podVerbs[subresource] : undefined;
    if (own !== undefined) return [own];
    // A container that is added to a running pod sees all of it.
    if (subresource === "ephemeralcontainers" && !isRead(method)) return ["exec"];
  }
  // Consoles of other groups: a connection into an object, like exec.
  if (isUpgrade && subresource !== "" && subresource !== "log") return ["exec"];
  // A watch begins with everything that is there.
  if (isWatch) return ["watch", "list"];
  return [plainVerb(method, isMany)];
}

function plainVerb(method: Exclude<Method, "OPTIONS">, isMany: boolean): KubeVerb {
  switch (method) {
    case "GET":
    case "HEAD":
      return isMany ? "list" : "get";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return isMany ? "deletecollection" : "delete";
  }
}
