import type { ListedCluster } from "../../core/api/web/served.ts";
import { call } from "../api/request.ts";
import { person } from "../api/session.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { hrefOf } from "../router/location.ts";
import { fillRoute } from "../router/match-route.ts";
import { loginLine } from "../text/login-line.ts";
import { shellWord } from "../text/size.ts";
import { kubePodsPath } from "./kube-pods.tsx";
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
        end: { title: "Pods", cell: PodsLink },
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

function PodsLink({ row: { name } }: { readonly row: ListedCluster }) {
  return (
    <a class="button" href={hrefOf(fillRoute(kubePodsPath, { cluster: name }))}>
      Pods<span class="hidden"> of {name}</span>
    </a>
  );
}

function Connect({ row: { name } }: { readonly row: ListedCluster }) {
  return (
    <>
      <p>
        <a class="button primary" href={hrefOf(fillRoute(kubePodsPath, { cluster: name }))}>
          Pods and their shells
        </a>
      </p>
      <h3>Connect from the command line</h3>
      <p>Log in on your computer first; kubectl, helm and other clients then find the cluster in your kubeconfig:</p>
      <CommandLine line={loginLine(person.value?.proxy ?? "", person.value?.user ?? "")} />
      <CommandLine line={`tsh kube login ${shellWord(name)}`} />
      <CommandLine line="kubectl get pods" />
      <p>Or, for clients that start no plugins, open a local port, which has a kubeconfig of its own:</p>
      <CommandLine line={`tsh proxy kube ${shellWord(name)}`} />
    </>
  );
}
