import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { ObjectPlace } from "../judge/read-request.ts";

/** Objects of one kind, in one namespace or none, that a request would delete together. */
export interface Collection {
  readonly place: Pick<ObjectPlace, "group" | "version" | "resource" | "namespace">;
  /** Of the request. */
  readonly query: ReadonlyMap<string, readonly string[]>;
}

/** Parameters that select objects; all others are options of the deletion. */
const choosing = ["labelSelector", "fieldSelector"];
const paging = ["limit", "continue"];
const listing = [
  ...choosing,
  ...paging,
  "resourceVersion",
  "resourceVersionMatch",
  "timeoutSeconds",
  "watch",
  "allowWatchBookmarks",
  "sendInitialEvents",
];

/** Path and query of a list of these objects, page by page. A client that asks for one page gets that one. Pure. */
export function pageTarget({ place, query }: Collection, pageSize: number, next: string): string {
  const asked = Number(query.get("limit")?.[0]);
  const limit = Number.isSafeInteger(asked) && asked > 0 ? Math.min(asked, pageSize) : pageSize;
  const from = next === "" ? (query.get("continue")?.[0] ?? "") : next;
  const chosen = choosing.flatMap((name) => (query.get(name) ?? []).slice(0, 1).map((value) => [name, value] as const));
  return `${pathOf(place)}?${encoded([...chosen, ["limit", String(limit)], ...(from === "" ? [] : [["continue", from] as const])])}`;
}

/** Whether the client asks for one page only: then only its objects are deleted, as the API server does. Pure. */
export function isOnePage({ query }: Collection): boolean {
  return paging.some((name) => (query.get(name)?.[0] ?? "") !== "");
}

/** Path and query that delete one of these objects, with the options of the request. Throws `unavailable` for a name that an object cannot have. Pure. */
export function objectTarget({ place, query }: Collection, name: string): { readonly path: string; readonly target: string } {
  if (name === "" || name === "." || name === ".." || /[/%]/.test(name) || name.length > 253)
    throw new PlatformError("unavailable", `the API server listed ${JSON.stringify(name.slice(0, 64))}, which is not a name of an object`);
  const options = [...query].flatMap(([key, values]) => (listing.includes(key) ? [] : values.map((value) => [key, value] as const)));
  const path = `${pathOf(place)}/${encodeURIComponent(name)}`;
  return { path, target: options.length === 0 ? path : `${path}?${encoded(options)}` };
}

function pathOf({ group, version, resource, namespace }: Collection["place"]): string {
  const root = group === "" ? ["api", version] : ["apis", group, version];
  return `/${[...root, ...(namespace === "" ? [] : ["namespaces", namespace]), resource].map(encodeURIComponent).join("/")}`;
}

function encoded(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
}
