import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Finished, output, type RunOptions, run } from "../program.ts";
import { until } from "../until.ts";
import { apiPort } from "./control-plane.ts";
import { type KubeApi, kubeApi } from "./kube-api.ts";
import { registriesFolder } from "./kube-node.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { type KubectlVersion, kubectl } from "./kubectl.ts";
import { freeAddresses, openKeeper } from "./open-keeper.ts";

/** An entry of the API server's audit log: who asked, whom it took him for, and what it answered. */
export interface KubeAuditEvent {
  /** The same in all stages of one request. */
  readonly auditID: string;
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username: string; readonly groups: readonly string[] };
  readonly impersonatedUser?: { readonly username: string; readonly groups?: readonly string[]; readonly extra?: object };
  readonly userAgent?: string;
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly name?: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code: number };
}

/** A real Kubernetes 1.20: etcd, API server, controllers, scheduler, a node with containers (`real`) and one without (`fake`). */
export interface KubeWorld extends AsyncDisposable {
  /** `https://ADDRESS:PORT`, reached from this machine. */
  readonly apiServerUrl: string;
  /** Its authority, PEM. */
  readonly ca: string;
  /** Path. */
  readonly adminKubeconfig: string;
  /** The API as admin. */
  readonly api: KubeApi;
  /** A stock kubectl, directly and as admin. */
  kubectl(version: KubectlVersion, args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** Creates a namespace whose pods go to this node; it is deleted with the world. */
  namespace(node: "real" | "fake"): Promise<string>;
  /** Path of a kubeconfig for an agent, whose context has this name: the token of a service account that may do what docs/kubernetes.md asks for, or these rules, and nothing else. */
  agentKubeconfig(context?: string, rules?: readonly object[]): Promise<string>;
  /** Gives a group the rights of a cluster role; taken back with the world. */
  grant(group: string, clusterRole: string): Promise<void>;
  /** Entries of the audit log so far that fit: all requests but those of the control plane and its admin. */
  auditEvents(fits?: (event: KubeAuditEvent) => boolean): Promise<KubeAuditEvent[]>;
  /** Address of this machine, where pods of the real node reach it once `letOut` has run. */
  readonly outerAddress: string;
  /** Gives the real node an image: an archive of an OCI layout, which gets this name. */
  importImage(archive: string, name: string): Promise<void>;
  /** Pods of the real node reach this machine, and the API server at its service's address, as in clusters with kube-proxy. */
  letOut(): Promise<void>;
  /** The real node pulls images from a registry, `host:port`, whose certificate this authority has signed; PEM. */
  trustRegistry(host: string, ca: string): Promise<void>;
  /** Connects a network namespace: the API server is reached there at the same address, through its firewall `inet fw` too. */
  connect(netns: string): Promise<void>;
}

export interface KubeWorldOptions {
  /** Not shared with other story files, for those that fill or break it. */
  readonly own?: boolean;
}

/** Throws NotHere where the programs are not. */
export async function kubeWorld({ own = false }: KubeWorldOptions = {}): Promise<KubeWorld> {
  const kept = await openKeeper(own ? "own" : "shared");
  const held = new AsyncDisposableStack();
  held.defer(() => void kept.connection.destroy());
  const dir = await mkdtemp(join(tmpdir(), "platform-kube-world-"));
  held.defer(() => rm(dir, { recursive: true, force: true }));
  const apiServerUrl = `https://${kept.address}:${apiPort}`;
  const ca = await readFile(join(kept.folder, "ca.crt"), "utf8");
  const api = await kubeApi(apiServerUrl, kept.folder);
  const adminKubeconfig = await writeKubeconfig(join(dir, "admin.kubeconfig"), {
    server: apiServerUrl,
    ca,
    user: { pki: kept.folder, name: "admin" },
  });
  const fresh = (name: string): string => `${name}-${randomBytes(4).toString("hex")}`;
  const add = async (path: string, object: { readonly metadata: { readonly name: string } }): Promise<void> => {
    await api.must("POST", path, object);
    held.defer(async () => void (await api.ask("DELETE", `${path}/${object.metadata.name}`)));
  };
  const bind = (subject: object, clusterRole: string): Promise<void> =>
    add(`${rbac}/clusterrolebindings`, {
      ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: fresh("bind") } },
      ...{ subjects: [subject], roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole } },
    } as { metadata: { name: string } });

  const world: KubeWorld = {
    ...{ apiServerUrl, ca, adminKubeconfig, api },
    kubectl: async (version, args, options = {}) =>
      run(await kubectl(version), args, { ...options, env: { HOME: dir, KUBECONFIG: adminKubeconfig, ...options.env } }),
    namespace: async (node) => {
      const name = fresh("test");
      const annotations = { "scheduler.alpha.kubernetes.io/node-selector": `node=${node}` };
      await add("/api/v1/namespaces", { metadata: { name, annotations } } as { metadata: { name: string } });
      const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
      // Pods are refused before its controller has made its token.
      await until("the namespace has its service account", async () => (await api.ask("GET", account)).body.secrets !== undefined);
      return name;
    },
    agentKubeconfig: async (context = "direct", rules = agentRules) => {
      const [namespace, role] = [await world.namespace("fake"), fresh("agent")];
      await add(`${rbac}/clusterroles`, { metadata: { name: role }, rules } as { metadata: { name: string } });
      await api.must("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: "agent" } });
      await bind({ kind: "ServiceAccount", name: "agent", namespace }, role);
      const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 86_400 } };
      const { status } = await api.must("POST", `/api/v1/namespaces/${namespace}/serviceaccounts/agent/token`, request);
      return await writeKubeconfig(join(dir, `${role}.kubeconfig`), { server: apiServerUrl, ca, user: { token: status?.token ?? "" } }, context);
    },
    grant: (group, clusterRole) => bind({ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: group }, clusterRole),
    auditEvents: async (fits = () => true) => {
      const lines = (await readFile(join(kept.folder, "audit.log"), "utf8")).split("\n").slice(0, -1);
      return lines.map((line) => JSON.parse(line) as KubeAuditEvent).filter(fits);
    },
    outerAddress: kept.address.replace(/\d+$/, (last) => String(Number(last) - 1)),
    importImage: async (archive, name) => {
      const inside = ["--net", "--mount"].map((kind) => `${kind}=/proc/${kept.pid}/ns/${kind === "--net" ? "net" : "mnt"}`);
      const ctr = ["ctr", "--address", "/run/containerd/containerd.sock", "--namespace", "k8s.io"];
      await output("nsenter", [...inside, ...ctr, "images", "import", "--base-name", name, archive]);
    },
    letOut: async () => {
      // Story files that share the cluster replace each other's rules, which are the same.
      const rules = `add table ip pods
      delete table ip pods
      table ip pods {
        chain out { type nat hook postrouting priority 100; ip saddr 10.244.0.0/16 oifname "eth0" masquerade; }
        chain in { type nat hook prerouting priority -100; ip daddr 10.96.0.1 tcp dport 443 dnat to ${kept.address}:${apiPort}; }
      }`;
      await output("nsenter", [`--net=/proc/${kept.pid}/ns/net`, "nft", "-f", "-"], { input: rules });
    },
    trustRegistry: async (host, authority) => {
      const folder = join(kept.folder, registriesFolder, host);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "ca.crt"), authority);
      const place = `https://${host}`;
      await writeFile(
        join(folder, "hosts.toml"),
        `server = "${place}"\n[host."${place}"]\n  capabilities = ["pull", "resolve"]\n  ca = "${join(folder, "ca.crt")}"\n`,
      );
    },
    connect: async (netns) => {
      const [theirs, ours] = await freeAddresses();
      const inside = `--net=/proc/${kept.pid}/ns/net`;
      const link = fresh("vn");
      await output("ip", ["-n", netns, "link", "add", "kube0", "type", "veth", "peer", "name", link, "netns", String(kept.pid)]);
      await output("nsenter", [inside, "sh", "-c", `ip addr add ${ours}/30 dev ${link} && ip link set ${link} up`]);
      await output("ip", ["-n", netns, "addr", "add", `${theirs}/30`, "dev", "kube0"]);
      await output("ip", ["-n", netns, "link", "set", "kube0", "up"]);
      await output("ip", ["-n", netns, "route", "add", `${kept.address}/32`, "via", ours]);
      const open = ["insert", "rule", "inet", "fw", "out", "ip", "daddr", kept.address, "tcp", "dport", String(apiPort), "accept"];
      await run("nft", open, { netns });
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
  return world;
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** What an agent's service account needs. */
const agentRules = [
  { apiGroups: [""], resources: ["users", "groups", "serviceaccounts"], verbs: ["impersonate"] },
  { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["selfsubjectaccessreviews"], verbs: ["create"] },
];
