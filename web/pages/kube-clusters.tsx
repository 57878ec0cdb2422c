import type { ListedCluster } from "../../core/api/web/served.ts";
import { call } from "../api/request.ts";
import { person } from "../api/session.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { loginLine } from "../text/login-line.ts";
import { shellWord } from "../text/size.ts";
import { ServedList } from "./served-list.tsx";

/** The Kubernetes clusters that the user may reach, with the command lines for each. */
export function KubeClusters() {
  return (
    <ServedList<ListedCluster>
      of={{
        resource: "kube_cluster",
        labels: "kubernetes_labels",
        title: "Kubernetes",
        noun: "Kubernetes cluster",
        load: async (signal) => (await call<{ clusters: readonly ListedCluster[] }>("/kube-clusters", { signal })).clusters,
        facts: () => ({ first: [], last: [] }),
        connect: Connect,
        first: (
          <>
            Name a kubeconfig under <code>kubernetes_service</code> of an agent, or create a <code>kube_cluster</code> resource that an agent's labels
            match.
          </>
        ),
      }}
    />
  );
}

function Connect({ row: { name } }: { readonly row: ListedCluster }) {
  return (
    <>
      <h3>Connect</h3>
      <p>Log in on your computer first; kubectl, helm and other clients then find the cluster in your kubeconfig:</p>
      <CommandLine line={loginLine(person.value?.proxy ?? "", person.value?.user ?? "")} />
      <CommandLine line={`tsh kube login ${shellWord(name)}`} />
      <CommandLine line="kubectl get pods" />
      <p>Or, for clients that start no plugins, open a local port, which has a kubeconfig of its own:</p>
      <CommandLine line={`tsh proxy kube ${shellWord(name)}`} />
    </>
  );
}
