/** One tree of control groups in which this process is below a systemd service. */
export interface Hierarchy {
  /** `unified` is cgroup v2 with all its controllers; the others are v1. */
  readonly kind: "unified" | "systemd" | "pids" | "memory";
  /** Folder of the service's group. */
  readonly folder: string;
}

/** The agent's own group within the service's. */
export const agentGroup = "agent";

/**
 * The service's groups, from /proc/self/cgroup and /proc/self/mountinfo. Empty without a service of systemd's: in a container, in a
 * terminal, under another service manager. Pure.
 */
export function findHierarchies(cgroup: string, mountinfo: string): readonly Hierarchy[] {
  const mounts = parseMounts(mountinfo);
  return cgroup.split("\n").flatMap((line): Hierarchy[] => {
    const [, id, names = "", path = ""] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    const kind = kindOf(id, names);
    const service = serviceOf(path);
    const mount = kind && mounts.find((one) => one.kinds.has(kind) && within(service ?? "", one.root));
    if (kind === undefined || service === undefined || mount === undefined) return [];
    const rest = mount.root === "/" ? service : service.slice(mount.root.length);
    return [{ kind, folder: `${mount.point}${rest}` }];
  });
}

function kindOf(id: string | undefined, names: string): Hierarchy["kind"] | undefined {
  if (id === "0" && names === "") return "unified";
  if (names === "name=systemd") return "systemd";
  return names === "pids" || names === "memory" ? names : undefined;
}

/** `/system.slice/platform.service`, also from a group within it. */
function serviceOf(path: string): string | undefined {
  const service = path.endsWith(`/${agentGroup}`) ? path.slice(0, -agentGroup.length - 1) : path;
  return service.endsWith(".service") && !service.split("/").includes("..") ? service : undefined;
}

interface Mount {
  readonly kinds: ReadonlySet<string>;
  /** Which group is at the mount point. */
  readonly root: string;
  readonly point: string;
}

/** `36 31 0:33 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids`, see proc_pid_mountinfo(5). */
function parseMounts(mountinfo: string): readonly Mount[] {
  return mountinfo.split("\n").flatMap((line): Mount[] => {
    const [front = "", back = ""] = line.split(" - ");
    const [, , , root = "", point = ""] = front.split(" ").map(plain);
    const [type, , options = ""] = back.split(" ");
    if (type === "cgroup2") return [{ kinds: new Set(["unified"]), root, point }];
    if (type !== "cgroup") return [];
    const kinds = options.split(",").map((option) => (option === "name=systemd" ? "systemd" : option));
    return [{ kinds: new Set(kinds), root, point }];
  });
}

/** Spaces and the like are written in octal. */
function plain(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

function within(path: string, root: string): boolean {
  return root === "/" ? path.startsWith("/") : path.startsWith(`${root}/`);
}
