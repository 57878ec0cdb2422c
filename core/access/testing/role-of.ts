import { type ServiceKind, serviceKinds } from "../../kinds/service-kinds.ts";
import type { Labels } from "../../resources/metadata.ts";
import { type Role, roleSchema } from "../../resources/role.ts";
import type { ServedAsk, SshAsk } from "../ask.ts";

/**
 * A role in one line, as the tables of the tests write it. Parts are separated by semicolons:
 *
 * For a kind of service other than SSH, its own conditions replace logins and node_labels.
 *
 *   allow root,alice on env=prod|dev app=web-*     logins, and label matchers; `|` separates the values of one key
 *   allow root                                     no labels: hosts are not named
 *   allow on *=*                                   no logins
 *   deny root / deny on env=secret                 the same for deny
 *   port_forwarding=false client_idle_timeout=5m   options
 */
export function roleOf(line: string, name: string, kind: ServiceKind = "ssh"): Role {
  const spec: { options?: object; allow?: object; deny?: object } = {};
  for (const part of line.split(";").map((one) => one.trim())) {
    if (part.startsWith("allow")) spec.allow = conditions(part.slice(5), kind, true);
    else if (part.startsWith("deny")) spec.deny = conditions(part.slice(4), kind, false);
    else if (part !== "") spec.options = Object.fromEntries(pairs(part).map(([key, value]) => [key, scalar(value)]));
  }
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name }, spec });
}

/** `env=prod app=web` as labels. */
export function labelsOf(text: string): Labels {
  return Object.fromEntries(pairs(text));
}

function conditions(text: string, kind: ServiceKind, isAllowed: boolean): object {
  const { labels: labelsCondition, names } = serviceKinds[kind];
  const [logins = "", labels] = ` ${text} `.split(" on ");
  const named = logins.split(",").flatMap((login) => login.trim() || []);
  return {
    ...(named.length > 0 && Object.fromEntries(Object.values<{ condition: string }>(names).map(({ condition }) => [condition, named]))),
    // A user of a Kubernetes cluster is lent something there.
    ...(kind === "kube" && isAllowed && { kubernetes_groups: ["group"] }),
    ...(labels !== undefined && { [labelsCondition]: Object.fromEntries(pairs(labels).map(([key, values]) => [key, alternatives(values)])) }),
  };
}

/** An expression keeps its bars. */
function alternatives(values: string): string | string[] {
  return values.startsWith("^") || !values.includes("|") ? values : values.split("|");
}

function pairs(text: string): [string, string][] {
  return text
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]);
}

function scalar(value: string): string | number | boolean {
  if (value === "true" || value === "false") return value === "true";
  return /^\d+$/.test(value) ? Number(value) : value;
}

/** A request for a resource with these labels, and for this name as each of the names that the kind has. */
export function askOf(kind: ServiceKind, name: string, labels: string): SshAsk | ServedAsk {
  if (kind !== "ssh") {
    const names = Object.fromEntries(Object.keys(serviceKinds[kind].names).map((parameter) => [parameter, name]));
    return { kind, served: { name: "n", labels: labelsOf(labels) }, names, serverId: "1" };
  }
  return { kind, node: { id: "1", name: "n", labels: labelsOf(labels) }, login: name };
}
