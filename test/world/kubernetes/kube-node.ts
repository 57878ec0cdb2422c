import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { output } from "../program.ts";
import { until } from "../until.ts";
import { pauseImage, writeBusyboxImage } from "./busybox-image.ts";
import type { Daemons } from "./daemons.ts";
import type { KubeApi } from "./kube-api.ts";

interface Place {
  readonly folder: string;
  readonly address: string;
  readonly programs: string;
  /** Name of its control groups. */
  readonly tag: string;
}

const controllers = ["cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd"];
const groupOf = (controller: string, tag: string): string => `/sys/fs/cgroup/${controller}/${tag}`;

/** Starts containerd and the kubelet as node `real`, and waits until it is ready. Meant for namespaces of its own: of mounts, processes and network. */
export async function startKubeNode(daemons: Daemons, api: KubeApi, { folder, address, programs, tag }: Place): Promise<void> {
  for (const controller of controllers) await mkdir(groupOf(controller, tag), { recursive: true }).catch(() => {});
  const file = (name: string): string => join(folder, name);
  await mkdir(file("cni"), { recursive: true });
  await writeFile(file("cni/10-bridge.conflist"), JSON.stringify(bridge));
  await writeFile(file("containerd.toml"), containerdConfig(folder));
  daemons.start("containerd", "/usr/bin/containerd", ["--config", file("containerd.toml")]);
  const image = await writeBusyboxImage(file("image"));
  const socket = "/run/containerd/containerd.sock";
  await until("containerd listens", () => existsSync(socket));
  await output("ctr", ["--address", socket, "--namespace", "k8s.io", "images", "import", image]);
  await writeFile(file("kubelet.json"), JSON.stringify(kubeletConfig(folder, address, tag)));
  daemons.start("kubelet", join(programs, "kubelet"), [
    `--config=${file("kubelet.json")}`,
    `--kubeconfig=${file("node.kubeconfig")}`,
    "--root-dir=/var/lib/kubelet",
    `--cert-dir=${file("kubelet")}`,
    "--container-runtime=remote",
    `--container-runtime-endpoint=unix://${socket}`,
    "--hostname-override=real",
    `--node-ip=${address}`,
    "--node-labels=node=real",
  ]);
  await until("the node is ready", async () => {
    daemons.check("kubelet");
    const node = (await api.ask("GET", "/api/v1/nodes/real")).body;
    return node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  });
}

const bridge = {
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "cni0",
      isGateway: true,
      ipMasq: false,
      ipam: { type: "host-local", ranges: [[{ subnet: "10.244.0.0/16" }]], routes: [{ dst: "0.0.0.0/0" }] },
    },
    { type: "loopback" },
  ],
};

/** In the cluster's folder: registries from which the real node pulls, each a folder that containerd reads at each pull. */
export const registriesFolder = "registries";

/** Root and state folder: state in memory, images and containers on the disk. Without CAP_SYS_RESOURCE a container's score cannot be lowered. */
function containerdConfig(folder: string): string {
  return `version = 2
root = "${folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  stream_server_address = "127.0.0.1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${folder}/${registriesFolder}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`;
}

function kubeletConfig(folder: string, address: string, tag: string): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${tag}`,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    address,
    port: 10250,
    readOnlyPort: 0,
    healthzBindAddress: "127.0.0.1",
    maxPods: 250,
    registerNode: true,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: join(folder, "ca.crt") } },
    authorization: { mode: "Webhook" },
    clusterDomain: "cluster.local",
    resolvConf: "",
    nodeStatusUpdateFrequency: "1s",
    syncFrequency: "10s",
    evictionHard: { "memory.available": "1Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
  };
}
