import type { CommandSpec, OptionSpec } from "../../command.ts";
import { kubeFilterOptions } from "../../host-filter.ts";
import { identityOption } from "../../shared-commands.ts";
import { joinCommand } from "../join-command.ts";

const several: readonly OptionSpec[] = [
  { flags: "--all", text: "all clusters that you may use" },
  { flags: "--labels <labels>", text: "clusters with all of these labels, key=value, separated by commas", multiple: true },
  { flags: "--query <expression>", text: 'clusters for which it holds: labels["env"] == "prod"' },
];

/** Commands for Kubernetes clusters, except `tsh proxy kube`. */
export function kubeCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
    {
      name: "kube",
      summary: "Kubernetes clusters behind agents",
      commands: [
        listCommand(proxy),
        loginCommand(proxy),
        logoutCommand(proxy),
        execCommand(proxy),
        joinCommand("tsh kube join", proxy),
        credentialsCommand,
      ],
    },
    kubectlCommand(proxy),
  ];
}

function listCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "ls",
    summary: "list the Kubernetes clusters that you may use",
    details:
      "List the Kubernetes clusters that connected agents offer and that your roles allow (kubernetes_labels). A * marks the one whose\ncontext is selected in your kubeconfig.",
    args: ["[label or word...]"],
    options: [{ flags: "-v, --verbose", text: "show contexts and hosts too" }, ...kubeFilterOptions, identityOption, proxy],
    formats: ["text", "json", "yaml", "names"],
    examples: ["tsh kube ls", "tsh kube ls env=prod", "tsh kube ls -f json | jq -r '.[].kube_cluster_name'"],
    run: async (call) => (await import("./list-kubes.ts")).listKubes(call),
  };
}

function loginCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "login",
    summary: "add a Kubernetes cluster to your kubeconfig",
    details:
      "Add a context to your kubeconfig (the first file of KUBECONFIG, else ~/.kube/config) and select it: kubectl, helm and others reach\nthe cluster then, and get their certificate from tsh. Other entries, comments and order stay. Several clusters are added\nwithout one being selected.",
    args: ["[name]"],
    options: [
      ...several,
      { flags: "--as <user>", text: "user to be at the cluster; your roles have to allow it (kubernetes_users)" },
      { flags: "--as-groups <groups>", text: "groups to be in at the cluster, separated by commas (kubernetes_groups)", multiple: true },
      { flags: "--kube-namespace <name>", text: "namespace of the context; default: the one it has" },
      { flags: "--set-context-name <template>", text: "name of the context; default: {{.ClusterName}}-{{.KubeName}}" },
      proxy,
    ],
    formats: ["text", "json", "yaml", "names"],
    examples: ["tsh kube login prod", "tsh kube login prod --kube-namespace=shop", "tsh kube login --labels=env=test", "kubectl get pods"],
    run: async (call) => (await import("./kube-login.ts")).loginKube(call),
  };
}

function logoutCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "logout",
    summary: "remove Kubernetes clusters from your kubeconfig",
    details:
      "Remove what tsh kube login has written for a cluster, and its certificate; without a name for all clusters. The context that was\nselected before is selected again.",
    args: ["[name]"],
    options: [proxy],
    formats: ["text", "json", "yaml"],
    examples: ["tsh kube logout prod", "tsh kube logout"],
    run: async (call) => (await import("./kube-login.ts")).logoutKube(call),
  };
}

const kubeCluster: OptionSpec = { flags: "--kube-cluster <name>", text: "Kubernetes cluster; default: that of the selected context" };

/** Without its letter, which is `--stdin` of kubectl exec. */
const longIdentity: OptionSpec = { ...identityOption, flags: "--identity <file>" };

function execCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "exec",
    summary: "run a command in a pod",
    details:
      "Run kubectl exec through a local port that exists as long as it runs. Arguments are those of kubectl exec; the exit status is\nthat of the command.",
    args: ["[kubectl argument...]"],
    passThrough: true,
    passUnknown: true,
    longOptionsAmong: true,
    options: [kubeCluster, longIdentity, proxy],
    examples: ["tsh kube exec -it web-0 -- sh", "tsh kube exec --kube-cluster=prod -n shop web-0 -- ls"],
    run: async (call) => (await import("./kubectl.ts")).execInPod(call),
  };
}

function kubectlCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "kubectl",
    summary: "run kubectl on a Kubernetes cluster",
    details:
      "Run kubectl through a local port that exists as long as it runs: no plugin is started. The clusters are\nthose of tsh kube login, or --kube-cluster. Arguments are kubectl's; the exit status is its own.",
    args: ["[kubectl argument...]"],
    passThrough: true,
    passUnknown: true,
    longOptionsAmong: true,
    options: [kubeCluster, identityOption, proxy],
    examples: ["tsh kubectl get pods", "tsh kubectl --kube-cluster=prod get pods -o wide"],
    run: async (call) => (await import("./kubectl.ts")).runKubectl(call),
  };
}

const credentialsCommand: CommandSpec = {
  name: "credentials",
  summary: "print credentials for kubectl",
  details: "Print the certificate for a Kubernetes cluster as JSON. kubectl runs this, as its kubeconfig says after tsh kube login.",
  hidden: true,
  options: [
    { flags: "--kube-cluster <name>", text: "the Kubernetes cluster", required: true },
    { flags: "--platform-cluster <name>", text: "the cluster of the login" },
    { flags: "--proxy <address>", text: "the proxy of the login, host:port", required: true },
  ],
  run: async (call) => (await import("./credentials.ts")).kubeCredentials(call),
};

/** `tsh proxy kube`. */
export function proxyKubeCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "kube",
    summary: "reach Kubernetes clusters at a local port",
    details:
      "Listen on a port of 127.0.0.1 and pass connections to Kubernetes clusters, until the command is interrupted. A kubeconfig for\nthis port is written beside your own; its clients need no plugin.",
    args: ["[name...]"],
    options: [
      { flags: "--port <port>", text: "local port; default: any free port" },
      { flags: "--kubeconfig <path>", text: "write the kubeconfig to this file, which holds no other entries; default: one in TSH_HOME" },
      ...several,
      { flags: "--as <user>", text: "user to be at the cluster" },
      { flags: "--as-groups <groups>", text: "groups to be in at the cluster, separated by commas", multiple: true },
      { flags: "--kube-namespace <name>", text: "namespace of the contexts" },
      identityOption,
      proxy,
    ],
    examples: ["tsh proxy kube prod", "tsh proxy kube prod test --port=8443"],
    run: async (call) => (await import("./proxy-kube.ts")).proxyKube(call),
  };
}
