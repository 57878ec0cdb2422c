import type { KubeAsk } from "../../../core/access/kube/kube-ask.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { groupVersion, type KindTable } from "./kind-table.ts";
import { isOn, type RequestTarget, readQuery, readTarget } from "./read-target.ts";
import { isRead, type Method, methods, requestVerbs } from "./request-verbs.ts";

/** A request to a cluster, understood: what it asks for, and what its answer will be. */
export interface KubeRequest {
  readonly target: RequestTarget;
  readonly method: Method;
  /** Empty for a request that is proxied to a pod, service or node, whose query is the application's. */
  readonly query: ReadonlyMap<string, readonly string[]>;
  /** Undefined for a path that does not name objects. */
  readonly place: ObjectPlace | undefined;
  readonly ask: KubeAsk;
  /** Whether the answer is many objects: a list, or lines of a watch. */
  readonly many: "list" | "watch" | undefined;
  /** Whether the name of the object is in the request's body, if anywhere: `withBodyName` adds it. */
  readonly isNamedInBody: boolean;
  /** Whether it is proxied: its headers are for an application. */
  readonly isProxied: boolean;
}

/** An object's, or a kind's, place in the API. */
export interface ObjectPlace {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty for none, or for all. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** A kind or subresource that is missing in the table: `groupVersion` has to be read again. */
export interface UnknownKind {
  readonly unknown: { readonly groupVersion: string; readonly what: string };
}

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** Whether the client wants to change the protocol of the connection. */
  readonly isUpgrade: boolean;
}

/** What a request is for. Throws `invalid` for a path or query that servers could read differently, and for its method. Pure. */
export function readRequest(head: RequestHead, kinds: KindTable): KubeRequest | UnknownKind {
  const method = methods.find((one) => one === head.method);
  if (method === undefined)
    throw new PlatformError("invalid", `the method ${JSON.stringify(head.method.slice(0, 32))} is not supported by Kubernetes`);
  const target = readTarget(head.target);
  const [root, ...rest] = target.segments;
  const [group, version, ...parts] = root === "api" ? ["", ...rest] : root === "apis" ? rest : [];
  if (group === undefined || version === undefined || parts.length === 0) return pathRequest(target, method);
  return objectRequest({ target, method, isUpgrade: head.isUpgrade, group, version, parts }, kinds);
}

/** First segments of paths that every user of a cluster may read: clients need them, and they do not reveal objects of the cluster. */
const openPaths = ["api", "apis", "version", "healthz", "livez", "readyz", "openapi"];
const openWholePaths = ["/.well-known/openid-configuration", "/openid/v1/jwks"];

/** Whether a path is for every user of the cluster. Pure. */
export function isOpenPath(path: string, method: Method): boolean {
  const [, root = ""] = path.split("/");
  return isRead(method) && (openPaths.includes(root) || openWholePaths.includes(path));
}

function pathRequest(target: RequestTarget, method: Method): KubeRequest {
  const ask: KubeAsk = isOpenPath(target.path, method) ? { type: "open" } : { type: "path", path: target.path };
  return { target, method, query: readQuery(target.query), place: undefined, ask, many: undefined, isNamedInBody: false, isProxied: false };
}

interface ObjectPath {
  readonly target: RequestTarget;
  readonly method: Method;
  readonly isUpgrade: boolean;
  readonly group: string;
  readonly version: string;
  /** After the version. */
  readonly parts: readonly string[];
}

function objectRequest(path: ObjectPath, kinds: KindTable): KubeRequest | UnknownKind {
  const { target, method, group, version, parts } = path;
  const isOldWatch = parts[0] === "watch";
  const place = placeOf(isOldWatch ? parts.slice(1) : parts);
  const { resource, namespace, name, subresource, rest } = place;
  const inGroup = groupVersion(group, version);
  const what = `${resource}${subresource === "" ? "" : `/${subresource}`}`;
  const kind = kinds.find(inGroup, resource);
  if (kind === undefined || (subresource !== "" && !kind.subresources.has(subresource))) return { unknown: { groupVersion: inGroup, what } };
  const isProxied = group === "" && subresource === "proxy" && proxied.includes(resource);
  if (!isProxied && (rest.length > 0 || target.endsWithSlash)) throw new PlatformError("invalid", "the request's path is longer than an object's");
  const query = isProxied ? new Map<string, string[]>() : readQuery(target.query);
  // With a name the API server ignores the parameter.
  const isWatch = (isOldWatch || (name === "" && isOn(query, "watch"))) && isRead(method);
  const isReview = method === "POST" && name === "" && isOwnReview(group, resource);
  const verbs = isProxied ? (["proxy"] as const) : requestVerbs({ ...path, resource, subresource, isWatch, isMany: name === "" });
  const [verb] = verbs;
  const scope = { ...(namespace !== "" && kind.isNamespaced && { namespace }), ...(name !== "" && name !== everyName && { name }) };
  return {
    target,
    method,
    query,
    place: { group, version, resource, namespace, name, subresource },
    ask: isReview ? { type: "open" } : { type: "object", group, resource, isNamespaced: kind.isNamespaced, ...scope, verbs },
    many: isWatch ? "watch" : verb === "list" ? "list" : undefined,
    isNamedInBody: verb === "create" && name === "" && !isReview,
    isProxied,
  };
}

/** In paths of metrics it stands for all objects: only a rule for all of them may match it. */
const everyName = "*";
const proxied = ["pods", "services", "nodes"];
/** Subresources of a namespace: any other word after its name is a kind in it. */
const ofNamespaces = ["status", "finalize"];

/** The path as the API server reads it. Throws `invalid`. */
function placeOf(parts: readonly string[]): Omit<ObjectPlace, "group" | "version"> & { readonly rest: readonly string[] } {
  const [first = "", second = "", third = ""] = parts;
  const isInside = first === "namespaces" && third !== "" && !ofNamespaces.includes(third);
  const [resource = "", name = "", subresource = "", ...rest] = isInside ? parts.slice(2) : parts;
  const namespace = isInside ? second : "";
  // Names in Kubernetes have none of these characters; paths of proxied applications may.
  for (const text of [resource, name, subresource, namespace]) {
    if (!/^[!-~]*$/.test(text) || /[%/]/.test(text)) throw new PlatformError("invalid", "the request's path contains an invalid object name");
  }
  return { resource, name, subresource, namespace, rest };
}

/** Reviews that every user may request: about their own rights and their own name. */
function isOwnReview(group: string, resource: string): boolean {
  if (group === "authorization.k8s.io") return resource === "selfsubjectaccessreviews" || resource === "selfsubjectrulesreviews";
  return group === "authentication.k8s.io" && resource === "selfsubjectreviews";
}
