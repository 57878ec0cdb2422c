import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import { emptyNotes, offered } from "../../empty-list.ts";
import { hostFilter, parseLabels } from "../../host-filter.ts";
import type { Result } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { renderLabels, renderTable } from "../../table.ts";
import { type ListedResource, usableResources } from "../served/list-served.ts";
import { kubeconfigPaths, readKubeconfig } from "./kubeconfig/kubeconfig-file.ts";
import { type OwnContext, ownContexts } from "./kubeconfig/own-entries.ts";

/** `tsh kube ls [key=value | word …]`. */
export async function listKubes(call: Call): Promise<Result> {
  const profile = await chosenProfile(call);
  const [found, contexts] = await Promise.all([usableResources(call.io, profile, "kube", hostFilter(call)), contextsOf(call, profile)]);
  const all = found.map(({ name, labels, hosts }) => {
    const own = contexts.find(({ kube }) => kube === name);
    return { kube_cluster_name: name, labels, selected: own?.isSelected === true, context: own?.context ?? null, hosts };
  });
  const isVerbose = call.options.flag("verbose");
  const rows = all.map(({ kube_cluster_name: name, labels, selected, context, hosts }) => [
    name,
    renderLabels(labels),
    selected ? "*" : context === null ? "" : "logged in",
    ...(isVerbose ? [context ?? "", hosts.join(" ")] : []),
  ]);
  const header = ["Kube Cluster Name", "Labels", "Selected", ...(isVerbose ? ["Context", "Hosts"] : [])];
  const notes = emptyNotes(call, all, { noun: "Kubernetes cluster", labels: "kubernetes_labels", needs: offered });
  return { data: all, text: renderTable(header, rows), names: all.map(({ kube_cluster_name: name }) => name), notes };
}

/** Contexts of this platform cluster in the user's kubeconfig; none where that cannot be read. */
export async function contextsOf({ io }: Pick<Call, "io">, { facts }: Profile): Promise<readonly OwnContext[]> {
  const config = await readKubeconfig(kubeconfigPaths(io.env)[0]).catch(() => undefined);
  return config === undefined ? [] : ownContexts(config).filter(({ cluster }) => cluster === facts.cluster);
}

/** The clusters that a command is for: one by its name, those with labels or a query, or all. Throws `invalid`, `not_found`. */
export async function chosenKubes({ io, args, options }: Call, profile: Profile): Promise<readonly ListedResource[]> {
  const [name] = args;
  const labels = parseLabels(options.list("labels").join(","));
  const query = options.text("query") ?? "";
  const isFiltered = Object.keys(labels).length > 0 || query !== "";
  if ([name !== undefined, isFiltered, options.flag("all")].filter(Boolean).length !== 1) {
    throw new PlatformError("invalid", "give either the name of a Kubernetes cluster, or --labels or --query, or --all", {
      hint: "`tsh kube ls` lists those that you may use",
    });
  }
  const found = await usableResources(io, profile, "kube", { labels, query, search: [] });
  const chosen = name === undefined ? found : found.filter((one) => one.name === name);
  if (chosen.length > 0) return chosen;
  const what = name === undefined ? "no Kubernetes cluster matches" : `Kubernetes cluster ${JSON.stringify(name.slice(0, 64))} does not exist`;
  throw new PlatformError("not_found", `${what}, or your roles do not allow it`, { hint: "`tsh kube ls` lists those that you may use" });
}
