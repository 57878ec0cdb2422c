import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { kubePathPrefix } from "../../../core/transport/kube-names.ts";
import type { KubeTunnel } from "./kube-tunnel.ts";
import { changeKubeconfig } from "./kubeconfig/kubeconfig-file.ts";
import { type KubeContext, loginEdit } from "./kubeconfig/own-entries.ts";

/** A context of the kubeconfig of a local port. */
export interface TunnelContext {
  readonly kube: string;
  /** Name of the context; left out: `<cluster>-<kube>`. */
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  /** User and groups to be. */
  readonly as?: string | undefined;
  readonly asGroups?: readonly string[];
}

export interface TunnelConfigFacts {
  readonly path: string;
  readonly cluster: string;
  readonly contexts: readonly TunnelContext[];
  /** The Kubernetes cluster whose context is selected. */
  readonly select: string | undefined;
}

/** Writes the kubeconfig (0600) of a local port; disposing of it removes the file. Throws `invalid`. */
export async function writeTunnelKubeconfig({ path, cluster, contexts, select }: TunnelConfigFacts, tunnel: KubeTunnel): Promise<AsyncDisposable> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
  const wanted = contexts.map((one): KubeContext => {
    const client = tunnel.certificates.clients.get(one.kube);
    return {
      cluster,
      kube: one.kube,
      name: one.name,
      namespace: one.namespace,
      server: {
        "certificate-authority-data": base64(tunnel.certificates.server.certificate),
        server: `https://${tunnel.address}${kubePathPrefix(cluster, one.kube)}`,
      },
      user: {
        ...(one.as !== undefined && { as: one.as }),
        ...(one.asGroups !== undefined && one.asGroups.length > 0 && { "as-groups": [...one.asGroups] }),
        "client-certificate-data": base64(client?.certificate ?? ""),
        "client-key-data": base64(client?.privateKey ?? ""),
      },
    };
  });
  await changeKubeconfig(path, (config) => loginEdit(config, wanted, select));
  return { [Symbol.asyncDispose]: async () => void (await rm(path, { force: true })) };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
