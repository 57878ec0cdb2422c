import { z } from "zod";
import type { KubeAsk } from "../../../core/access/kube/kube-ask.ts";
import type { KindTable } from "./kind-table.ts";
import { isOpenPath } from "./read-request.ts";
import { type Method, requestVerbs } from "./request-verbs.ts";

const text = z.string().max(1024).default("");
const reviewSchema = z.object({
  spec: z.object({
    resourceAttributes: z
      .object({ namespace: text, verb: text, group: text, version: text, resource: text, subresource: text, name: text })
      .optional(),
    nonResourceAttributes: z.object({ path: text, verb: text }).optional(),
  }),
});

/**
 * The action that a SelfSubjectAccessReview asks about, in the form in which a request for it would be decided; undefined for an action that no request
 * performs, and for a kind that the table lacks. Pure.
 */
export function reviewedAsk(body: unknown, kinds: KindTable): KubeAsk | undefined {
  const { resourceAttributes: object, nonResourceAttributes: path } = reviewSchema.safeParse(body).data?.spec ?? {};
  if (path !== undefined) return pathAsk(path.path, methodOf(path.verb));
  if (object === undefined) return undefined;
  const { group, resource, subresource, name, namespace, verb } = object;
  const kind = kinds.inGroup(group, resource);
  const method = methodOf(verb);
  if (kind === undefined || method === undefined) return undefined;
  const scope = { ...(namespace !== "" && kind.isNamespaced && { namespace }), ...(name !== "" && { name }) };
  const isProxied = group === "" && subresource === "proxy";
  const isMany = verb === "list" || verb === "deletecollection";
  const facts = { method, group, resource, subresource, isUpgrade: false, isWatch: verb === "watch", isMany };
  const verbs = isProxied ? (["proxy"] as const) : requestVerbs(facts);
  return { type: "object", group, resource, isNamespaced: kind.isNamespaced, ...scope, verbs };
}

/** The method of requests with a verb of Kubernetes; undefined for one that no request has, such as `impersonate`. */
function methodOf(verb: string): Method | undefined {
  switch (verb) {
    case "get":
    case "list":
    case "watch":
      return "GET";
    case "create":
      return "POST";
    case "update":
      return "PUT";
    case "patch":
      return "PATCH";
    case "delete":
    case "deletecollection":
      return "DELETE";
    default:
      return undefined;
  }
}

function pathAsk(path: string, method: Method | undefined): KubeAsk {
  return method !== undefined && isOpenPath(path, method) ? { type: "open" } : { type: "path", path };
}
