import { PlatformError } from "../../../core/errors/platform-error.ts";
import { kubePathPrefix } from "../../../core/transport/kube-names.ts";
import { readEdited } from "../../edit-private-file.ts";
import type { KubeTunnel } from "./kube-tunnel.ts";
import { changeKubeconfig } from "./kubeconfig/kubeconfig-file.ts";
import { holdsPortsAlone, type KubeContext, loginEdit, logoutEdit, stillWritten } from "./kubeconfig/own-entries.ts";

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

type WrittenTunnel = Pick<KubeTunnel, "address" | "certificates">;

export interface TunnelConfigFacts {
  readonly path: string;
  readonly cluster: string;
  readonly contexts: readonly TunnelContext[];
  /** The Kubernetes cluster whose context is selected. */
  readonly select: string | undefined;
}

/**
 * Writes the kubeconfig (0600) of a local port; disposing of it removes what was written, and the file when nothing else was there or came to it. Throws
 * `already_exists` for a file with other entries, which stays as it is, and `invalid`, `timeout`, `conflict`.
 */
export async function writeTunnelKubeconfig({ path, cluster, contexts, select }: TunnelConfigFacts, tunnel: WrittenTunnel): Promise<AsyncDisposable> {
  const wanted = contexts.map((one) => contextOf(one, cluster, tunnel));
  let isOwnFile = false;
  // What an earlier command could not remove goes first: its clusters may be others.
  await changeKubeconfig(path, (config) => {
    if (!holdsPortsAlone(config, cluster)) throw othersIn(path);
    isOwnFile = config.clusters.length > 0;
    return logoutEdit(config, cluster);
  });
  isOwnFile ||= (await readEdited(path)) === "";
  await changeKubeconfig(path, (config) => loginEdit(config, wanted, select));
  return {
    [Symbol.asyncDispose]: async () =>
      void (await changeKubeconfig(path, (config) => logoutEdit(config, cluster, stillWritten(config, wanted)), { removesEmpty: isOwnFile })),
  };
}

function othersIn(path: string): PlatformError {
  return new PlatformError("already_exists", `${path} has entries that are not those of a local port of tsh`, {
    hint: "choose a file of its own with --kubeconfig: its entries go when the command ends; to keep several files in use, list them in KUBECONFIG",
  });
}

function contextOf(one: TunnelContext, cluster: string, tunnel: WrittenTunnel): KubeContext {
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
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
