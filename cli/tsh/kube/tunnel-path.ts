import { join } from "node:path";
import type { CliIo } from "../../io.ts";
import { tshHome } from "../../profile/profile-folder.ts";
import { encodeName } from "../../profile/resource-certificates.ts";

/** The kubeconfig of a local port: `~/.tsh/kube/<cluster>-<port>.kubeconfig`. */
export function tunnelPath(env: CliIo["env"], cluster: string, port: number): string {
  return join(tshHome(env), "kube", `${encodeName(cluster)}-${port}.kubeconfig`);
}
