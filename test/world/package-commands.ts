import type { Machine } from "./machine.ts";
import type { MachineManager } from "./machine-options.ts";

/** An admin's commands, per package manager; our repository is bound to /repository. */
interface PackageCommands {
  readonly addRepository: readonly string[];
  /** Takes over the keys that the repository names now. */
  readonly trust: readonly string[];
  readonly refresh: readonly string[];
  /** Both packages in this version, whatever is installed. */
  readonly install: (version: string) => readonly string[];
  readonly reinstall: (version: string) => readonly string[];
  readonly remove: (names: readonly string[]) => readonly string[];
}

const names = ["platform-ent", "platform-ent-updater"];
const shell = (script: string): readonly string[] => ["sh", "-ec", script];

/** Keys are trusted from a file of the host alone: keys offered by a repository are not. */
const rpmKey = "/etc/pki/rpm-gpg/platform.asc";
const rpmTrust = shell(`cp /repository/keys/platform.asc ${rpmKey}; rpm --import ${rpmKey}`);
const rpmRepository = (folder: string): readonly string[] =>
  shell(`mkdir -p ${folder}
printf '[platform]\\nname=platform\\nbaseurl=file:///repository/yum/stable/v1/x86_64\\nenabled=1\\ngpgcheck=1\\nrepo_gpgcheck=1\\n' >${folder}/platform.repo
echo gpgkey=file://${rpmKey} >>${folder}/platform.repo`);

const dnf = (program: string): PackageCommands => ({
  addRepository: rpmRepository("/etc/yum.repos.d"),
  trust: rpmTrust,
  refresh: [program, "-y", "makecache", "--refresh"],
  install: (version) => [program, "-y", "install", ...names.map((name) => `${name}-${version}`)],
  reinstall: (version) => [program, "-y", "reinstall", ...names.map((name) => `${name}-${version}`)],
  remove: (removed) => [program, "-y", "remove", ...removed],
});

const commands: Readonly<Record<MachineManager, PackageCommands>> = {
  apt: {
    addRepository: shell(
      'echo "deb [signed-by=/etc/apt/keyrings/platform.asc] file:/repository/apt stable/v1 main" >/etc/apt/sources.list.d/platform.list',
    ),
    trust: shell("mkdir -p /etc/apt/keyrings; cp /repository/keys/platform.asc /etc/apt/keyrings/"),
    refresh: ["apt-get", "-qq", "update", "-o", "APT::Update::Error-Mode=any"],
    install: (version) => ["apt-get", "-qqy", "--allow-downgrades", "install", ...names.map((name) => `${name}=${version}`)],
    reinstall: (version) => ["apt-get", "-qqy", "--reinstall", "install", ...names.map((name) => `${name}=${version}`)],
    remove: (removed) => ["apt-get", "-qqy", "remove", ...removed],
  },
  dnf: dnf("dnf"),
  yum: dnf("yum"),
  zypper: {
    addRepository: rpmRepository("/etc/zypp/repos.d"),
    trust: rpmTrust,
    refresh: ["zypper", "--non-interactive", "refresh", "--force", "platform"],
    install: (version) => ["zypper", "--non-interactive", "install", "--oldpackage", ...names.map((name) => `${name}=${version}`)],
    reinstall: (version) => ["zypper", "--non-interactive", "install", "--force", ...names.map((name) => `${name}=${version}`)],
    remove: (removed) => ["zypper", "--non-interactive", "remove", ...removed],
  },
};

/** The package manager of a machine, as its admin uses it. */
export class PackageManager {
  readonly #machine: Machine;
  readonly #commands: PackageCommands;
  readonly #before: readonly string[];

  /** `before`: words before each command that changes packages. */
  constructor(machine: Machine, before: readonly string[] = []) {
    this.#machine = machine;
    this.#before = before;
    this.#commands = commands[machine.manager];
  }

  /** Makes /repository known with its keys, and fetches its index. */
  async addRepository(): Promise<void> {
    await this.#machine.output(this.#commands.addRepository);
    await this.trustKeys();
    await this.refresh();
  }

  async trustKeys(): Promise<void> {
    await this.#machine.output(this.#commands.trust);
  }

  async refresh(): Promise<void> {
    await this.#machine.output(this.#commands.refresh);
  }

  async install(version: string): Promise<void> {
    await this.#change(this.#commands.install(version));
  }

  async reinstall(version: string): Promise<void> {
    await this.#change(this.#commands.reinstall(version));
  }

  async remove(...removed: string[]): Promise<void> {
    await this.#change(this.removal(...removed));
  }

  /** The command that removes packages. */
  removal(...removed: string[]): readonly string[] {
    return this.#commands.remove(removed);
  }

  async #change(command: readonly string[]): Promise<void> {
    await this.#machine.output([...this.#before, ...command]);
  }
}
