import { PlatformError } from "../../../core/errors/platform-error.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import { kubePathPrefix } from "../../../core/transport/kube-names.ts";
import { execPlugin, type PluginFacts } from "./exec-plugin.ts";
import type { KubeAddress } from "./kube-address.ts";
import type { KubeContext } from "./kubeconfig/own-entries.ts";

/** What a login writes for each Kubernetes cluster. */
export interface ContextFacts extends PluginFacts {
  readonly address: KubeAddress;
  /** PEM of the host authority. */
  readonly hostCaPem: readonly string[];
  /** The user and groups to be at the clusters; left out: those of the roles. */
  readonly as?: string | undefined;
  readonly asGroups: readonly string[];
  readonly namespace?: string | undefined;
  /** Template of the context's name: `{{.KubeName}}` and `{{.ClusterName}}`. */
  readonly contextName?: string | undefined;
}

/** The context of kubectl for a Kubernetes cluster, whose credentials come from tsh. Throws `invalid` for a template of another kind. Pure. */
export function kubeContext(kube: string, facts: ContextFacts): KubeContext {
  const { cluster, address, as, asGroups, namespace } = facts;
  const name = facts.contextName === undefined ? undefined : contextName(facts.contextName, { cluster, kube });
  return {
    cluster,
    kube,
    ...(name !== undefined && { name }),
    ...(namespace !== undefined && { namespace }),
    server: {
      "certificate-authority-data": Buffer.from(facts.hostCaPem.map((pem) => `${pem.trim()}\n`).join("")).toString("base64"),
      server: `https://${formatHostPort(address)}${kubePathPrefix(cluster, kube)}`,
      "tls-server-name": address.serverName,
    },
    user: {
      ...(as !== undefined && { as }),
      ...(asGroups.length > 0 && { "as-groups": [...asGroups] }),
      exec: execPlugin(kube, facts),
    },
  };
}

function contextName(template: string, { cluster, kube }: { readonly cluster: string; readonly kube: string }): string {
  const values: Readonly<Record<string, string>> = { ClusterName: cluster, KubeName: kube };
  const name = template.replaceAll(/\{\{\s*\.(\w*)\s*\}\}/g, (all, variable: string) => {
    const value = values[variable];
    if (value === undefined) throw badTemplate(`${all} is not known`);
    return value;
  });
  if (name.trim() === "" || /\{\{|\}\}/.test(name)) throw badTemplate(`${JSON.stringify(template.slice(0, 100))} is not a name`);
  return name;
}

function badTemplate(why: string): PlatformError {
  return new PlatformError("invalid", `--set-context-name: ${why}`, { hint: "write a name; {{.KubeName}} and {{.ClusterName}} stand for theirs" });
}
