import { type Machine, startMachine } from "./machine.ts";
import type { MachineManager } from "./machine-options.ts";
import { PackageManager } from "./package-commands.ts";
import { until } from "./until.ts";

/** A machine that knows our repository, and the effects of our packages on it. */
export class PackagedHost implements AsyncDisposable {
  readonly machine: Machine;
  readonly packages: PackageManager;

  constructor(machine: Machine) {
    this.machine = machine;
    this.packages = new PackageManager(machine);
  }

  /** `repository`: a folder of this host. */
  static async start(manager: MachineManager, repository: string): Promise<PackagedHost> {
    const host = new PackagedHost(await startMachine({ manager, binds: { [repository]: "/repository" } }));
    await host.packages.addRepository();
    return host;
  }

  /** enabled, disabled, masked or not-found, and active or inactive. */
  async unitState(unit: string): Promise<string> {
    const shown = await this.machine.output(["systemctl", "show", "--value", "-p", "LoadState,UnitFileState,ActiveState", unit]);
    // systemctl prints properties in an order of its own.
    const words = shown
      .split("\n")
      .slice(0, 3)
      .filter((word) => word !== "" && word !== "loaded");
    return words.sort().join(" ");
  }

  async timer(): Promise<string> {
    return await this.unitState("platform-upgrade.timer");
  }

  async mainPid(): Promise<string> {
    return (await this.machine.output(["systemctl", "show", "--value", "-p", "MainPID", "platform"])).trim();
  }

  /** Processes of the agent, with those that drain. */
  async processes(): Promise<string[]> {
    const lines = (await this.machine.output(["ps", "-eo", "pid=,ppid=,args="])).split("\n");
    const all = lines.flatMap((line) => {
      const [, pid = "", parent = "", command = ""] = /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? [];
      return /^\/bin\/sh \/usr\/bin\/platform start|platform-drains$/.test(command) ? [{ pid, parent, command }] : [];
    });
    // A shell that is about to start something is there twice for a moment.
    return all.filter((one) => !all.some(({ pid, command }) => pid === one.parent && command === one.command)).map(({ pid }) => pid);
  }

  async versions(): Promise<string> {
    return await this.machine.output(["sh", "-c", "platform version; platform-upgrade version"]);
  }

  /** Whether a path is there, links to nowhere included. */
  async exists(path: string): Promise<boolean> {
    return (await this.machine.run(["sh", "-c", '[ -e "$0" ] || [ -L "$0" ]', path])).status === 0;
  }

  /** Its main process, once the draining one exists too. */
  async startAgent(): Promise<string> {
    await this.machine.write("/etc/platform.yaml", "version: v3\n");
    await this.machine.systemctl("enable", "--now", "platform");
    await until("the agent and what drains are there", async () => (await this.processes()).length === 2);
    return await this.mainPid();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.machine.stop();
  }
}
