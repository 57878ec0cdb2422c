import { delimiter } from "node:path";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import type { Result } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import { followProfile } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { installedClient, leavingInterrupts, runClient } from "../db/start-client.ts";
import { usableResources } from "../served/list-served.ts";
import { openKubeTunnel, type TunnelKube } from "./kube-tunnel.ts";
import { kubeconfigPaths } from "./kubeconfig/kubeconfig-file.ts";
import type { OwnContext } from "./kubeconfig/own-entries.ts";
import { contextsOf } from "./list-kubes.ts";
import { writeTunnelKubeconfig } from "./tunnel-kubeconfig.ts";
import { tunnelPath } from "./tunnel-path.ts";

/** `tsh kubectl …`: the user's kubectl over a local port, where the contexts of tsh have the names that they have in the user's kubeconfig. */
export async function runKubectl(call: Call): Promise<Result> {
  return await kubectlWith(call, call.args);
}

/** `tsh kube exec …`: `kubectl exec` in the same way. */
export async function execInPod(call: Call): Promise<Result> {
  return await kubectlWith(call, ["exec", ...call.args]);
}

async function kubectlWith(call: Call, rest: readonly string[]): Promise<Result> {
  const { io } = call;
  requireKubectl(io.env);
  const profile = await chosenProfile(call);
  const own = await contextsOf(call, profile);
  const { kubes, select } = await withTrust(call, profile, (trusting) => wanted(call, trusting, own));
  const source = await followProfile(call, profile);
  await using tunnel = await openKubeTunnel(call, { kubes, source, port: 0 });
  const path = tunnelPath(io.env, profile.facts.cluster, tunnel.port);
  const contexts = kubes.map(({ name }) => {
    const known = own.find(({ kube }) => kube === name);
    return { kube: name, name: known?.context, namespace: known?.namespace, as: known?.as, asGroups: known?.asGroups ?? [] };
  });
  await using file = await writeTunnelKubeconfig({ path, cluster: profile.facts.cluster, contexts, select }, tunnel);
  void file;
  // Contexts of others stay; entries of the first file win.
  const env = { ...io.env, KUBECONFIG: [path, ...kubeconfigPaths(io.env)].join(delimiter) };
  const status = await leavingInterrupts(() => runClient([kubectl], { env, database: "", stdio: "inherit", rest }));
  return { data: {}, text: "", status };
}

/** Before anything is opened. Throws `not_found`. */
function requireKubectl(env: Call["io"]["env"]): void {
  if (installedClient([kubectl], env) !== undefined) return;
  throw new PlatformError("not_found", "kubectl is not installed here", {
    hint: "install the package kubernetes-client of Debian, or kubectl from https://kubernetes.io/docs/tasks/tools/; or use another client with: tsh proxy kube",
  });
}

const kubectl = { program: "kubectl", args: [], env: {}, package: "kubernetes-client" } as const;

/** The clusters that the user logged in to and `--kube-cluster`; the selected one is that, or that of the user's kubeconfig. Throws `invalid`, `not_found`. */
async function wanted(
  { io, options }: Call,
  profile: Profile,
  own: readonly OwnContext[],
): Promise<{ readonly kubes: readonly TunnelKube[]; readonly select: string | undefined }> {
  const given = options.text("kubeCluster");
  const { route } = profile.facts;
  // The auth service answers no question to a certificate for one resource; the proxy and the agent decide.
  if (route?.kind === "kube") return { kubes: [{ name: route.name, hosts: [] }], select: route.name };
  const names = [...new Set([...(given === undefined ? [] : [given]), ...own.map(({ kube }) => kube)])];
  if (names.length === 0) {
    throw new PlatformError("invalid", "no Kubernetes cluster was named, and you are not logged in to any", {
      hint: "log in to one with: tsh kube login <name>; or give --kube-cluster=<name>",
    });
  }
  const usable = await usableResources(io, profile, "kube");
  if (given !== undefined && !usable.some(({ name }) => name === given)) {
    throw new PlatformError("not_found", `Kubernetes cluster ${JSON.stringify(given.slice(0, 64))} does not exist, or your roles do not allow it`, {
      hint: "`tsh kube ls` lists those that you may use",
    });
  }
  const kubes = names.map((name) => {
    const { hosts = [], needsCode = false } = usable.find((one) => one.name === name) ?? {};
    return { name, hosts, needsCode };
  });
  return { kubes, select: given ?? own.find(({ isSelected }) => isSelected)?.kube };
}
