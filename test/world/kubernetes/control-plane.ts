import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../until.ts";
import type { Daemons } from "./daemons.ts";
import { type KubeApi, kubeApi } from "./kube-api.ts";
import { makeKubePki } from "./kube-pki.ts";
import { writeKubeconfig } from "./kubeconfig.ts";

export interface ControlPlane {
  readonly api: KubeApi;
  /** Folder of its certificates. */
  readonly pki: string;
  /** Starts the API server (again) and waits until it answers. */
  startApiServer(): Promise<void>;
}

interface Place {
  readonly folder: string;
  /** Where it is reached from outside its network namespace. */
  readonly address: string;
  /** Folder of the compiled programs. */
  readonly programs: string;
}

/** Ports of its own network namespace. */
export const apiPort = 6443;

/** All requests but those of the control plane itself, with who was impersonated; bodies are left out. */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    { level: "None", users: ["admin", "system:apiserver", "system:anonymous", "system:kube-controller-manager", "system:kube-scheduler"] },
    { level: "None", userGroups: ["system:nodes", "system:serviceaccounts:kube-system"] },
    { level: "Metadata" },
  ],
};

/** Pods of a namespace that does not choose its node go to the one without containers. */
const admission = (folder: string): object => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AdmissionConfiguration",
  plugins: [{ name: "PodNodeSelector", path: join(folder, "node-selector.json") }],
});

/** Starts etcd, the API server, the controllers and the scheduler, and waits until they work. Meant for a process and network namespace of their own. */
export async function startControlPlane(daemons: Daemons, { folder, address, programs }: Place): Promise<ControlPlane> {
  const pki = folder;
  await makeKubePki(pki, address);
  const file = (name: string): string => join(folder, name);
  await writeFile(file("audit-policy.json"), JSON.stringify(auditPolicy));
  await writeFile(file("admission.json"), JSON.stringify(admission(folder)));
  await writeFile(file("node-selector.json"), JSON.stringify({ podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: "node=fake" } }));
  const server = `https://${address}:${apiPort}`;
  const ca = await readFile(file("ca.crt"), "utf8");
  for (const name of ["admin", "controllers", "scheduler", "node"])
    await writeKubeconfig(file(`${name}.kubeconfig`), { server, ca, user: { pki, name } });
  daemons.start("etcd", "/usr/bin/etcd", etcdOptions(folder));
  const api = await kubeApi(server, pki);
  const plane: ControlPlane = {
    api,
    pki,
    startApiServer: async () => {
      daemons.start("kube-apiserver", join(programs, "kube-apiserver"), apiServerOptions(folder, address));
      await until("the API server is ready", async () => {
        daemons.check("kube-apiserver");
        return (await api.ask("GET", "/readyz")).status === 200;
      });
    },
  };
  await plane.startApiServer();
  const as = (name: string): string[] =>
    ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"].map((option) => `--${option}=${file(`${name}.kubeconfig`)}`);
  const common = ["--leader-elect=false", "--bind-address=127.0.0.1", "--port=0", "--kube-api-qps=500", "--kube-api-burst=1000"];
  daemons.start("kube-controller-manager", join(programs, "kube-controller-manager"), [
    ...as("controllers"),
    ...common,
    "--use-service-account-credentials",
    `--service-account-private-key-file=${file("accounts.key")}`,
    `--root-ca-file=${file("ca.crt")}`,
    `--cluster-signing-cert-file=${file("ca.crt")}`,
    `--cluster-signing-key-file=${file("ca.key")}`,
    "--concurrent-namespace-syncs=20",
  ]);
  daemons.start("kube-scheduler", join(programs, "kube-scheduler"), [...as("scheduler"), ...common]);
  await until("the controllers work", async () => (await api.ask("GET", "/api/v1/namespaces/default/serviceaccounts/default")).status === 200);
  return plane;
}

function etcdOptions(folder: string): readonly string[] {
  const [clients, peers] = ["http://127.0.0.1:2379", "http://127.0.0.1:2380"];
  return [
    `--data-dir=${join(folder, "etcd")}`,
    "--unsafe-no-fsync",
    "--log-level=error",
    `--listen-client-urls=${clients}`,
    `--advertise-client-urls=${clients}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=default=${peers}`,
  ];
}

function apiServerOptions(folder: string, address: string): readonly string[] {
  const file = (name: string): string => join(folder, name);
  return [
    "--etcd-servers=http://127.0.0.1:2379",
    "--bind-address=0.0.0.0",
    `--advertise-address=${address}`,
    `--secure-port=${apiPort}`,
    `--tls-cert-file=${file("apiserver.crt")}`,
    `--tls-private-key-file=${file("apiserver.key")}`,
    `--client-ca-file=${file("ca.crt")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${file("accounts.pub")}`,
    `--service-account-signing-key-file=${file("accounts.key")}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    "--authorization-mode=Node,RBAC",
    "--allow-privileged=true",
    `--requestheader-client-ca-file=${file("ca.crt")}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${file("front-proxy.crt")}`,
    `--proxy-client-key-file=${file("front-proxy.key")}`,
    `--kubelet-client-certificate=${file("kubelet-client.crt")}`,
    `--kubelet-client-key=${file("kubelet-client.key")}`,
    "--kubelet-preferred-address-types=InternalIP",
    "--enable-admission-plugins=PodNodeSelector",
    `--admission-control-config-file=${file("admission.json")}`,
    "--feature-gates=EphemeralContainers=true",
    `--audit-policy-file=${file("audit-policy.json")}`,
    `--audit-log-path=${file("audit.log")}`,
    "--max-requests-inflight=2000",
    "--max-mutating-requests-inflight=1000",
  ];
}
