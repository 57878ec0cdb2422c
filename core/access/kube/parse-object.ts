import { PlatformError } from "../../errors/platform-error.ts";
import { coreGroup, type KubeKind, type KubeVerb, kubeKinds, kubeVerbs } from "../../resources/kube-rule.ts";
import type { ObjectAsk } from "./kube-ask.ts";

/** A question about objects, in the words of roles. */
export interface ObjectQuestion {
  readonly verb: string;
  /** As in `kubernetes_resources`. */
  readonly kind: string;
  /** Omitted: all. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** What is asked. A kind that is not among the known ones is in namespaces if the question names one. Throws `invalid`. Pure. */
export function parseObject({ verb: verbName, kind, namespace, name }: ObjectQuestion): ObjectAsk {
  const verb = kubeVerbs.find((one) => one === verbName);
  if (verb === undefined)
    throw new PlatformError("invalid", `${JSON.stringify(verbName)} is not a verb`, { hint: `verbs are ${kubeVerbs.join(", ")}` });
  const verbs: readonly KubeVerb[] = verb === "watch" ? ["watch", "list"] : [verb];
  const scope = { ...(namespace !== undefined && { namespace }), ...(name !== undefined && { name }), verbs };
  const known = Object.hasOwn(kubeKinds, kind) ? kubeKinds[kind as KubeKind] : undefined;
  const [place] = known?.places ?? [];
  if (known !== undefined && place !== undefined) return { type: "object", ...place, isNamespaced: known.isNamespaced, ...scope };
  const dot = kind.indexOf(".");
  if (dot <= 0) {
    throw new PlatformError("invalid", `${JSON.stringify(kind)} is not a kind`, {
      hint: `kinds are ${Object.keys(kubeKinds).join(", ")}, and others as <plural>.<group>, such as events.core`,
    });
  }
  const group = kind.slice(dot + 1);
  return { type: "object", group: group === coreGroup ? "" : group, resource: kind.slice(0, dot), isNamespaced: namespace !== undefined, ...scope };
}
