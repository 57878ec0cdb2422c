import { access, constants } from "node:fs/promises";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import { doAll } from "../../do-all.ts";
import { type Result, textResult } from "../../output.ts";
import { ownCommand } from "../../own-command.ts";
import { chosenProfile, loadFacts, proxyOption } from "../../profile/choose-profile.ts";
import { tshHome } from "../../profile/profile-folder.ts";
import { firstReached, withTrust } from "../../profile/reach-cluster.ts";
import { dropCertificates, storeCertificate } from "../../profile/store-certificate.ts";
import { ownCertificate } from "../served/own-certificate.ts";
import { kubeAddress } from "./kube-address.ts";
import { kubeContext } from "./kube-context.ts";
import { changeKubeconfig, kubeconfigPaths, readKubeconfig } from "./kubeconfig/kubeconfig-file.ts";
import { entryName, loginEdit, logoutEdit, ownContexts } from "./kubeconfig/own-entries.ts";
import { chosenKubes } from "./list-kubes.ts";

/** `tsh kube login NAME`, or several: contexts in the user's kubeconfig; one that is named is selected. */
export async function loginKube(call: Call): Promise<Result> {
  const { io, options } = call;
  refuseIdentity(call);
  const home = tshHome(io.env);
  const first = await chosenProfile(call);
  const { profile, clusters, address } = await withTrust(call, first, async (trusting) => ({
    profile: trusting,
    clusters: await chosenKubes(call, trusting),
    address: await firstReached(trusting.facts, io, (reached) => kubeAddress(io, trusting, reached)),
  }));
  const { proxy } = await loadFacts(home, proxyOption(call));
  const facts = {
    cluster: profile.facts.cluster,
    address,
    hostCaPem: profile.hostCaPem,
    proxy,
    command: ownCommand("tsh", io),
    tshHome: io.env.TSH_HOME || undefined,
    shell: await posixShell(),
    as: options.text("as"),
    asGroups: options.list("asGroups"),
    namespace: options.text("kubeNamespace"),
    contextName: options.text("setContextName"),
  };
  const contexts = clusters.map(({ name }) => kubeContext(name, facts));
  const named = call.args[0];
  // The plugin gets those of several when they are used.
  if (named !== undefined) await storeCertificate(home, proxy, await ownCertificate(io, profile, { kind: "kube", name: named }));
  const [path] = kubeconfigPaths(io.env);
  await changeKubeconfig(path, (config) => loginEdit(config, contexts, named));
  const data = contexts.map((one) => ({ kube_cluster_name: one.kube, context: one.name ?? entryName(one), selected: one.kube === named }));
  const [only] = data;
  const text =
    named !== undefined && only !== undefined
      ? `Logged in to Kubernetes cluster ${named}. Its context ${only.context} is selected in ${path}.\nTry: kubectl version`
      : `Logged in to ${data.length} Kubernetes clusters. Their contexts are in ${path}.\nSelect one with: tsh kube login <name>; or kubectl config use-context <context>`;
  return { data: { kubeconfig: path, clusters: data }, text, names: data.map(({ context }) => context) };
}

/** `tsh kube logout [NAME]`: removes what a login has written, and the certificates. */
export async function logoutKube(call: Call): Promise<Result> {
  refuseIdentity(call);
  const home = tshHome(call.io.env);
  const facts = await loadFacts(home, proxyOption(call));
  const [name] = call.args;
  const { removed, notes } = await forgetKubes(call.io.env, facts.cluster, name === undefined ? undefined : [name]);
  await dropCertificates(home, facts.proxy, name === undefined ? { kind: "kube" } : { kind: "kube", names: [name] });
  if (name !== undefined && removed.length === 0) {
    throw new PlatformError("not_found", `you are not logged in to a Kubernetes cluster ${JSON.stringify(name.slice(0, 64))}`, {
      hint: "`tsh kube ls` marks those with a login",
    });
  }
  const text =
    removed.length === 0 ? "You were not logged in to any Kubernetes cluster." : `Logged out of Kubernetes clusters: ${removed.join(", ")}.`;
  return { ...textResult(text, notes), data: { removed } };
}

/**
 * Removes the entries of these Kubernetes clusters of a cluster, or of all, from the user's kubeconfigs; returns their names, and a note when
 * another context is selected now: what kubectl does next goes there. A file that cannot be changed does not keep the others from it: throws at the end, as
 * `changeKubeconfig`.
 */
export async function forgetKubes(env: Call["io"]["env"], cluster: string, names?: readonly string[]): Promise<ForgottenKubes> {
  const removed = new Set<string>();
  const before = await selectedContext(env);
  const forgetIn = async (path: string): Promise<void> => {
    const own = ownContexts(await readKubeconfig(path)).filter((one) => one.cluster === cluster && names?.includes(one.kube) !== false);
    if (own.length === 0) return;
    await changeKubeconfig(path, (config) => logoutEdit(config, cluster, names));
    for (const { kube } of own) removed.add(kube);
  };
  await doAll(kubeconfigPaths(env).map((path) => () => forgetIn(path)));
  const after = await selectedContext(env);
  const now = after === "" ? "No context is selected for kubectl now." : `The context ${after} is selected for kubectl again.`;
  return { removed: [...removed].sort(), notes: after === before ? [] : [now] };
}

interface ForgottenKubes {
  /** Names of the Kubernetes clusters. */
  readonly removed: readonly string[];
  readonly notes: readonly string[];
}

/** The context that kubectl uses: of the first file that selects one. Empty: none, or the files cannot be read. */
async function selectedContext(env: Call["io"]["env"]): Promise<string> {
  for (const path of kubeconfigPaths(env)) {
    const config = await readKubeconfig(path).catch(() => undefined);
    if (config !== undefined && config.currentContext !== "") return config.currentContext;
  }
  return "";
}

/** The names of contexts that a tsh wrote for other clusters than these. A kubeconfig that cannot be read has none. */
export async function otherContexts(env: Call["io"]["env"], clusters: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of kubeconfigPaths(env)) {
    const config = await readKubeconfig(path).catch(() => undefined);
    const own = config === undefined ? [] : ownContexts(config);
    found.push(...own.filter(({ cluster }) => !clusters.includes(cluster)).map(({ context }) => context));
  }
  return [...new Set(found)];
}

/** Path of this system's POSIX shell; undefined: it has none, as Windows. */
async function posixShell(): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  const path = "/bin/sh";
  return await access(path, constants.X_OK).then(
    () => path,
    () => undefined,
  );
}

function refuseIdentity({ options }: Call): void {
  if (options.text("identity") === undefined) return;
  throw new PlatformError("unsupported", "an identity file has no place for logins to Kubernetes clusters", {
    hint: "make one for the Kubernetes cluster alone with: tctl auth sign --only=kube/<name>; and use it with: tsh -i <file> proxy kube",
  });
}
