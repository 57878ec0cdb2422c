import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterAdmin } from "./cluster-admin.ts";
import { controlConfig } from "./cluster-config.ts";
import type { ClusterControl } from "./cluster-control.ts";
import { makeUser, type User, type UserOptions } from "./cluster-user.ts";
import { PackagedHost } from "./packaged-host.ts";
import { output } from "./program.ts";
import { until } from "./until.ts";

/** Control on a machine of its own, as an admin has it: our package, /etc/platform.yaml, systemd. */
export interface PackagedControl extends ClusterControl, AsyncDisposable {
  readonly host: PackagedHost;
  user(name: string, options?: UserOptions): Promise<User>;
  /** Waits until its proxy answers. */
  answers(): Promise<void>;
  /** The version that the main process runs, which is not that of the package before a reload. */
  running(): Promise<string>;
  /** `systemctl reload`, until another process is the main one. */
  reload(): Promise<void>;
}

const ports = { web: 443, auth: 3025, ssh: 3023, tunnel: 3024 } as const;

/** `version` from `repository`, a folder of this host, set up and started. */
export async function startPackagedControl(repository: string, version: string): Promise<PackagedControl> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "platform-control-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const host = stack.use(await PackagedHost.start("apt", repository));
  const { machine } = host;
  await host.packages.install(version);
  const { address } = machine;
  const proxy = `${address}:${ports.web}`;
  const text = controlConfig({ dir: "/var/lib", address, name: address, ports, mode: "multiplex" });
  await machine.write("/etc/platform.yaml", text.replace("/var/lib/control", "/var/lib/platform"), 0o600);
  await machine.systemctl("enable", "--now", "platform");
  const admin = clusterAdmin((args, { input } = {}) => machine.run(["tctl", ...args], input === undefined ? {} : { input }));
  const answers = async (): Promise<void> => {
    await until(`control answers on ${proxy}`, () => output("curl", ["-ksf", "--max-time", "2", `https://${proxy}/webapi/ping`]));
  };
  const reload = async (): Promise<void> => {
    const before = await host.mainPid();
    await machine.systemctl("reload", "platform");
    await until("another process is the main one", async () => !["0", before].includes(await host.mainPid()));
  };
  const place = { dir, ports, proxy, ...admin };
  await answers();
  const all = stack.move();
  return {
    ...place,
    ...{ host, answers, reload },
    user: (name, options = {}) => makeUser(place, { name, ...options }),
    running: async () => {
      const status = `/run/platform/status-${await host.mainPid()}.sock`;
      const answer = await machine.output(["curl", "-sf", "--unix-socket", status, "http://platform/status"]);
      return (JSON.parse(answer) as { version: string }).version;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
