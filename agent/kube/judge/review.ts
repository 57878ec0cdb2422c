import { z } from "zod";
import type { KubeAsk } from "../../../core/access/kube/kube-ask.ts";
import { type KubeVerb, kubeVerbs } from "../../../core/resources/kube-rule.ts";
import type { KindTable } from "./kind-table.ts";
import { isOpenPath } from "./read-request.ts";
import { type Method, requestVerbs } from "./request-verbs.ts";

const text = z.string().max(1024).default("");
const objectSchema = z.object({ namespace: text, verb: text, group: text, version: text, resource: text, subresource: text, name: text });
type ReviewedObject = z.infer<typeof objectSchema>;
const reviewSchema = z.object({
  spec: z.object({
    resourceAttributes: objectSchema.optional(),
    nonResourceAttributes: z.object({ path: text, verb: text }).optional(),
  }),
});

/** A kind that is missing in the table: its group has to be read. */
export interface UnknownReviewed {
  readonly unknown: { readonly group: string };
}

/**
 * The action that a SelfSubjectAccessReview asks about, in the form in which a request for it would be decided; undefined for an action that no request
 * performs. `*` stands for every verb, and for every kind. Pure.
 */
export function reviewedAsk(body: unknown, kinds: KindTable): KubeAsk | UnknownReviewed | undefined {
  const { resourceAttributes: object, nonResourceAttributes: path } = reviewSchema.safeParse(body).data?.spec ?? {};
  if (path !== undefined) return pathAsk(path.path, methodOf(path.verb));
  if (object === undefined) return undefined;
  const { group, resource, name, namespace } = object;
  const verbs = verbsOf(object);
  if (verbs === undefined) return undefined;
  const kind = resource === "*" ? { isNamespaced: namespace !== "" } : kinds.inGroup(group, resource);
  if (kind === undefined) return { unknown: { group } };
  const scope = { ...(namespace !== "" && kind.isNamespaced && { namespace }), ...(name !== "" && { name }) };
  return { type: "object", group, resource, isNamespaced: kind.isNamespaced, ...scope, verbs };
}

/** Undefined for a verb that no request has. */
function verbsOf({ verb, group, resource, subresource }: ReviewedObject): readonly KubeVerb[] | undefined {
  if (verb === "*") return kubeVerbs;
  const method = methodOf(verb);
  if (method === undefined) return undefined;
  if (group === "" && subresource === "proxy") return ["proxy"];
  const isMany = verb === "list" || verb === "deletecollection";
  return requestVerbs({ method, group, resource, subresource, isUpgrade: false, isWatch: verb === "watch", isMany });
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
