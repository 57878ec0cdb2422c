import { resolve } from "node:path";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import type { HostileRepository, Served } from "./hostile-repository.ts";
import { type Machine, startMachine } from "./machine.ts";
import type { MachineManager, MachineOptions } from "./machine-options.ts";
import type { Service } from "./service.ts";

const root = resolve(import.meta.dirname, "../..");
const there = "/opt/source";
const node = `${there}/node_modules/node-linux-${process.arch}/bin/node`;
const script = `${there}/test/world/call-installer.ts`;
/** Compiled sources are kept for the next call on the machine: without, a call takes four times the processor time. */
const kept = { NODE_COMPILE_CACHE: "/run/call-installer" };

export interface Called {
  readonly value?: unknown;
  readonly reason?: UpgradeReason;
  readonly message?: string;
  readonly log: string;
}

/** A machine on which the updater's installer is called. */
export class InstallerHost implements AsyncDisposable {
  readonly machine: Machine;
  /** How the repository that the machine knows is served. */
  served: Served | "elsewhere" = "good";
  readonly #repository: HostileRepository;

  constructor(machine: Machine, repository: HostileRepository) {
    this.machine = machine;
    this.#repository = repository;
  }

  static async start(manager: MachineManager, repository: HostileRepository, options: MachineOptions = {}): Promise<InstallerHost> {
    const machine = await startMachine({ ...options, manager, binds: { [root]: there } });
    const host = new InstallerHost(machine, repository);
    const key = manager === "apt" ? "/etc/apt/keyrings/platform.asc" : "/etc/pki/rpm-gpg/platform.asc";
    await machine.write(key, repository.key);
    await host.use("good");
    return host;
  }

  /** Writes the repository's file as the install script does. */
  async use(served: Served, elsewhere?: string): Promise<void> {
    const url = elsewhere ?? this.#repository.url(served);
    this.served = elsewhere === undefined ? served : "elsewhere";
    if (this.machine.manager === "apt") {
      const line = `deb [signed-by=/etc/apt/keyrings/platform.asc] ${url}/apt stable/v1 main\n`;
      await this.machine.write("/etc/apt/sources.list.d/platform.list", line);
      return;
    }
    const folder = this.machine.manager === "zypper" ? "/etc/zypp/repos.d" : "/etc/yum.repos.d";
    const names = "excludepkgs=platform-ent platform-ent-updater\n";
    const text = `[platform]\nname=platform\nbaseurl=${url}/yum/stable/v1/$basearch\nenabled=0\n${names}gpgcheck=1\nrepo_gpgcheck=1\n`;
    await this.machine.write(`${folder}/platform.repo`, `${text}gpgkey=file:///etc/pki/rpm-gpg/platform.asc\n`);
  }

  /** Calls a method of the installer with the detected package manager; throws any other error than UpgradeError. */
  async call(method: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Called> {
    const done = await this.machine.run([node, script, "auto", method, ...args], { env: { ...kept, ...env } });
    if (done.status !== 0) throw new Error(`${method}: exit ${done.status}\n${done.stderr}`);
    const answer: Omit<Called, "log"> = JSON.parse(done.stdout);
    return { ...answer, log: done.stderr };
  }

  /** Result of a method that must succeed. */
  async value(method: string, ...args: string[]): Promise<unknown> {
    const { value, reason, message, log } = await this.call(method, args);
    if (reason !== undefined) throw new Error(`${method}: ${reason}: ${message}\n${log}`);
    return value;
  }

  /** The reason with which a method fails. */
  async reason(method: string, ...args: string[]): Promise<UpgradeReason | undefined> {
    return (await this.call(method, args)).reason;
  }

  /** Begins a call and does not wait for it. */
  begin(method: string, ...args: string[]): Service {
    return this.machine.service([node, script, "auto", method, ...args]);
  }

  async hasFile(path: string): Promise<boolean> {
    return (await this.machine.run(["test", "-e", path])).status === 0;
  }

  /** The version that the program on the disk says it has. */
  async onDisk(): Promise<string> {
    return (await this.machine.output(["platform", "version"])).replace(/^platform /, "").trim();
  }

  /** Back to 1.0.0, and to a repository that is well. */
  async restore(): Promise<void> {
    if (this.served !== "good") {
      await this.use("good");
      await this.value("refresh");
    }
    if ((await this.onDisk()) !== "1.0.0") await this.value("downgrade", "platform-ent", "1.0.0");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.machine.stop();
  }
}
