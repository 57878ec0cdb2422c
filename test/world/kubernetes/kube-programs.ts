import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { NotHere } from "../not-here.ts";
import { output } from "../program.ts";

const script = resolve(import.meta.dirname, "../../../scripts/kubernetes.sh");

/** The folder of the programs that `scripts/kubernetes.sh build` compiled. Throws NotHere where one of them, or of Debian's, is not. */
export async function kubePrograms(): Promise<string> {
  if (process.getuid?.() !== 0) throw new NotHere("a Kubernetes node needs root");
  const folder = (await output(script, ["where"])).trim();
  const compiled = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"].map((name) => join(folder, name));
  const packaged = ["/usr/bin/etcd", "/usr/bin/containerd", "/usr/sbin/runc", "/usr/lib/cni/bridge", "/usr/bin/busybox"];
  const missing = [...compiled, ...packaged].find((path) => !existsSync(path));
  if (missing !== undefined) throw new NotHere(`${missing} is missing: scripts/prepare.sh test brings it`);
  return folder;
}
