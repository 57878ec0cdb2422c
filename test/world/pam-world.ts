import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Cluster, startCluster } from "./cluster.ts";
import type { User } from "./cluster-user.ts";
import { type HostInRoot, hostInRoot } from "./host-in-root.ts";
import { type OwnRoot, openOwnRoot } from "./own-root.ts";
import { makePamHost, type PamHost } from "./pam-host.ts";
import { type Finished, program, run } from "./program.ts";
import { until } from "./until.ts";

/** A root of its own with two agents: web-1 asks PAM, plain-1 does not. alice may log in as everybody there. */
export interface PamWorld extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly root: OwnRoot;
  readonly pam: PamHost;
  readonly host: HostInRoot;
  readonly user: User;
  /** Configuration file for OpenSSH's programs. */
  readonly config: string;
  /** A command on web-1. */
  tsh(login: string, command: string): Promise<Finished>;
  openssh(name: "ssh" | "sftp", args: readonly string[], input?: string): Promise<Finished>;
  /** Waits until no session is left, and forgets the calls so far. */
  forget(): Promise<void>;
}

/** Of web-1. */
const pamService = `  pam:
    enabled: yes
    service_name: platform-test
    environment: { TEAM: "team-{{internal.logins}}" }
`;

export async function openPamWorld(): Promise<PamWorld> {
  const root = await openOwnRoot();
  const pam = await makePamHost(root);
  const cluster = await startCluster();
  const host = await hostInRoot(cluster, root, { name: "web-1", sshService: pamService });
  await hostInRoot(cluster, root, { name: "plain-1" });
  const user = await cluster.user("alice", { logins: "bob,carol,dave,erin,frank,root" });
  const config = join(cluster.dir, "openssh");
  await writeFile(config, (await user.tsh(["config"])).stdout);
  const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
  return {
    cluster,
    root,
    pam,
    host,
    user,
    config,
    tsh: (login, command) => user.tsh(["ssh", `${login}@web-1`, command]),
    openssh: (name, args, input = "") => run(name, ["-F", config, "-o", "BatchMode=yes", ...args], { env, input, limitMs: 30_000 }),
    forget: async () => {
      await until("no session is left", async () => (await root.run(["pgrep", "-x", "platform-pam"])).status === 1);
      await pam.forget();
    },
    [Symbol.asyncDispose]: async () => {
      await root[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}
