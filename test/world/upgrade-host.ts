import { parseState } from "../../updater/state/parse-state.ts";
import { type AuditEvent, auditEvents } from "./audited.ts";
import type { Cluster } from "./cluster.ts";
import { agentConfig } from "./cluster-config.ts";
import type { Machine } from "./machine.ts";
import { packagedVersions } from "./package-world.ts";
import type { Finished } from "./program.ts";
import { until } from "./until.ts";

/** A host's record in the cluster. */
interface HostRecord {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly hostname: string; readonly version: string };
  readonly status?: {
    readonly connected: boolean;
    readonly host?: { readonly upgrader: string; readonly reason?: string; readonly sessions: number };
  };
}

/** How the updater's last run ended, as its state file says. */
export interface UpdaterState {
  readonly reason: string;
  readonly detail: string;
  readonly current?: string;
  readonly target?: string;
}

type PackagedVersion = keyof typeof packagedVersions;
/** A channel of the site. */
type SiteChannel = PackagedVersion | `critical/${PackagedVersion}`;

/** A machine with our packages, an agent, and the updater's timer on, but a day away: tests run the updater themselves. */
export class UpgradeHost implements AsyncDisposable {
  readonly machine: Machine;
  readonly #cluster: Cluster;

  constructor(cluster: Cluster, machine: Machine) {
    this.#cluster = cluster;
    this.machine = machine;
  }

  /** By the script that the proxy serves; then configured and started. */
  async install(options: { edition: string; defaults: string; prepare: () => Promise<void> | undefined }): Promise<void> {
    const { machine } = this;
    if (options.defaults !== "") await machine.write("/etc/default/platform", options.defaults, 0o600);
    const script = `set -a; [ ! -e /etc/default/platform ] || . /etc/default/platform; set +a
curl -fsS https://${this.#cluster.proxy}/scripts/install.sh | sh -s -- ${packagedVersions.now} ${options.edition}`;
    await machine.output(["sh", "-c", script], { limitMs: 120_000 });
    await machine.write(
      "/etc/systemd/system/platform-upgrade.timer.d/test.conf",
      "[Timer]\nOnActiveSec=\nOnBootSec=\nOnUnitActiveSec=\nOnActiveSec=1d\n",
    );
    await machine.systemctl("daemon-reload");
    await machine.systemctl("restart", "platform-upgrade.timer");
    await this.configure();
    await options.prepare();
    await machine.systemctl("enable", "--now", "platform");
    await this.connected();
  }

  async configure(): Promise<void> {
    const { proxy } = this.#cluster;
    const text = agentConfig({ name: this.machine.hostname, proxy, token: await this.#cluster.token(), pin: await this.#cluster.pin() });
    await this.machine.write("/etc/platform.yaml", text, 0o600);
  }

  /** From now on the updater asks this channel. */
  async follow(channel: SiteChannel): Promise<void> {
    const path = `${this.#cluster.proxy}/v1/webapi/automaticupgrades/channel/${channel}`;
    await this.machine.write("/etc/platform-upgrade.d/endpoint", `${path}\n`);
  }

  /** Runs the updater as its timer does, to its end. */
  async tick(): Promise<UpdaterState> {
    await this.machine.run(["systemctl", "start", "platform-upgrade.service"], { limitMs: 300_000 });
    return await this.state();
  }

  /** From its file: the command that shows it would cost a fifth of a second of a processor, for each run in each story. */
  async state(): Promise<UpdaterState> {
    // There is none before the first run.
    const { stdout } = await this.machine.run(["cat", "/var/lib/platform-upgrade/state"]);
    const { reason = "never_ran", detail = "", ...rest } = parseState(stdout) ?? {};
    return { ...rest, reason, detail };
  }

  /** A command of the updater, run as an admin would. */
  async upgrade(command: "dry-run" | "force" | "run"): Promise<Finished> {
    return await this.machine.run(["platform-upgrade", command], { limitMs: 300_000 });
  }

  /** The cluster's record of this host. */
  async record(): Promise<HostRecord> {
    const nodes = JSON.parse(await this.#cluster.admin("get", "node", "--format=json")) as readonly HostRecord[];
    const found = nodes.find(({ spec }) => spec.hostname === this.machine.hostname);
    if (found === undefined) throw new Error(`the cluster does not know ${this.machine.hostname}`);
    return found;
  }

  /** Waits until its tunnel is up, of the given version. */
  async connected(version?: string): Promise<void> {
    const is = version === undefined ? "connected" : `connected as ${version}`;
    try {
      await until(`${this.machine.hostname} is ${is}`, async () => {
        const { spec, status } = await this.record();
        return status?.connected === true && (version === undefined || spec.version === version);
      });
    } catch (thrown) {
      const journal = (await this.machine.journal("platform")).split("\n").slice(-30).join("\n");
      throw new Error(`${thrown instanceof Error ? thrown.message : String(thrown)}\n${journal}`, { cause: thrown });
    }
  }

  /** Waits until the inventory has this reason for it: the agent asks systemd about the timer once a minute, and looks every 15 s. */
  async reported(reason: string): Promise<void> {
    await until(
      `the inventory says ${reason} of ${this.machine.hostname}`,
      async () => (await this.record()).status?.host?.reason === reason,
      120_000,
    );
  }

  /** The process that systemd takes for the agent. */
  async mainPid(): Promise<string> {
    return (await this.machine.systemctl("show", "--property=MainPID", "--value", "platform")).trim();
  }

  /** Audit events of a kind about this host, the oldest first. */
  async events(kind: string): Promise<readonly AuditEvent[]> {
    return (await auditEvents(this.#cluster, kind)).filter(({ server_name }) => server_name === this.machine.hostname);
  }

  async version(): Promise<string> {
    return (await this.machine.output(["platform", "version"])).trim().replace(/^platform v?/, "");
  }

  /** Gives the host maintenance windows: one that is open now, or one that opens in an hour. */
  async schedule(open: boolean): Promise<void> {
    const start = Math.floor(Date.now() / 1000) + (open ? -1800 : 3600);
    await this.machine.write("/etc/platform-upgrade.d/schedule", `# generated by platform\n${start} ${start + 3600}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.machine.stop();
  }
}
