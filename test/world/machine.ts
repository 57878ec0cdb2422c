import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Boot, boot } from "./machine-boot.ts";
import { mountDisk } from "./machine-disk.ts";
import { makeMachineFolder, removeMachine } from "./machine-folder.ts";
import { linkMachine, type MachineLink, wayInto } from "./machine-network.ts";
import type { MachineManager, MachineOptions } from "./machine-options.ts";
import { type Finished, output, type RunOptions, run } from "./program.ts";
import { type Service, startService } from "./service.ts";

export interface MachineRunOptions extends Omit<RunOptions, "netns" | "cwd"> {
  /** Another user than root. */
  readonly user?: string;
}

/** See `machinesSkip` for its requirements. Before it starts, it removes leftovers of killed test runs. */
export async function startMachine(options: MachineOptions = {}): Promise<Machine> {
  const name = `pm${randomBytes(4).toString("hex")}`;
  const dir = await makeMachineFolder(name);
  try {
    await mountDisk(dir, name, options);
    const link = options.netns === undefined ? await linkMachine(name) : await wayInto(options.netns);
    const machine = new Machine({ name, dir, link, options });
    await machine.start();
    return machine;
  } catch (thrown) {
    await removeMachine(dir);
    throw thrown;
  }
}

interface MachineFacts {
  readonly name: string;
  readonly dir: string;
  readonly link: MachineLink;
  readonly options: MachineOptions;
}

/**
 * A Linux machine with real systemd as process 1, a disk and a network of its own, made for one test: about half a second.
 *
 *     import { startMachine } from "./machine.ts";
 *     import { machinesSkip } from "./machine-skip.ts";
 *
 *     beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));
 *     test("…", async () => {
 *       await using machine = await startMachine({ manager: "dnf", hosts: { "control.test": address } });
 *       await machine.write("/etc/default/platform", "HTTPS_PROXY=…\n", 0o600);
 *       await machine.copyIn(deb, "/tmp/platform.deb");
 *       await machine.output(["apt-get", "install", "-y", "/tmp/platform.deb"]);
 *       await machine.systemctl("start", "platform");
 *       await machine.powerCut();          // everything in it is killed; its disk stays
 *       await machine.start();             // boots again from that disk
 *     });
 *
 * A service of the host that the machine shall reach listens on `machine.gateway`, or on the address of `openHostAddress`
 * (machine-network.ts), which is there before the first machine and serves several (`startCluster({ address, name, keypair })`). /etc/default/locale, resolv.conf and apt's
 * sources are empty: nothing on it uses the Internet. Commands of `run` have the host's capabilities; to see what a unit
 * may do, use `systemd-run --wait --pipe`. Not as on real hardware: LimitNOFILE above 20000 and a negative OOMScoreAdjust have
 * no effect, memory limits neither; the clock is the host's (see machine-clock.ts).
 */
export class Machine implements AsyncDisposable {
  readonly hostname: string;
  readonly manager: MachineManager;
  readonly address: string;
  /** The host as the machine sees it; undefined when it is in a namespace of the caller's. */
  readonly gateway: string | undefined;
  readonly netns: string;
  /** How often it has booted. */
  boots = 0;
  #booted: Boot | undefined;
  readonly #facts: MachineFacts;

  constructor(facts: MachineFacts) {
    this.#facts = facts;
    this.hostname = facts.options.hostname ?? facts.name;
    this.manager = facts.options.manager ?? "apt";
    this.address = facts.link.address;
    this.gateway = facts.link.gateway;
    this.netns = facts.options.netns ?? facts.name;
  }

  /** Boots from its disk, and waits until all is started. */
  async start(): Promise<void> {
    const { name, dir, options } = this.#facts;
    this.#booted = await boot({ name, dir, hostname: this.hostname, netns: this.netns, binds: options.binds ?? {} });
    this.boots += 1;
    const state = await this.run(["systemctl", "is-system-running", "--wait"]);
    if (this.boots > 1 || state.stdout.trim() === "running") return;
    const failed = await this.run(["systemctl", "--failed", "--no-legend"]);
    throw new Error(`machine ${name} is ${state.stdout}${state.stderr}${failed.stdout}`);
  }

  /** Runs a command to its end; never throws for its exit status. */
  async run(argv: readonly string[], options: MachineRunOptions = {}): Promise<Finished> {
    return await run("nsenter", this.#inside(argv, options), hereOnly(options));
  }

  /** A command that must succeed; its standard output. */
  async output(argv: readonly string[], options: MachineRunOptions = {}): Promise<string> {
    return await output("nsenter", this.#inside(argv, options), hereOnly(options));
  }

  /** A long-running command, killed with the machine at the latest. */
  service(argv: readonly string[], options: MachineRunOptions = {}): Service {
    return startService("nsenter", this.#inside(argv, options), {});
  }

  /** Writes a file whole, with its folders. */
  async write(file: string, text: string | Buffer, mode = 0o644): Promise<void> {
    const script = 'mkdir -p "$(dirname "$1")" && cat >"$1.new" && chmod "$2" "$1.new" && mv "$1.new" "$1"';
    await this.output(["sh", "-c", script, "sh", file, mode.toString(8)], { input: text });
  }

  async read(file: string): Promise<string> {
    return await this.output(["cat", file]);
  }

  /** Copies a file of this host. */
  async copyIn(from: string, to: string, mode = 0o644): Promise<void> {
    await this.write(to, await readFile(from), mode);
  }

  /** systemctl that must succeed; its standard output. */
  async systemctl(...args: string[]): Promise<string> {
    return await this.output(["systemctl", ...args]);
  }

  /** Messages of a unit, of all boots, one a line. */
  async journal(unit: string): Promise<string> {
    return await this.output(["journalctl", `--unit=${unit}`, "--output=cat", "--no-pager", "--quiet"]);
  }

  /** Fills the disk (of `diskMb`) until no more than this is left, for root too. */
  async leaveFree(kib: number): Promise<void> {
    const [blocks, bytes] = (await this.output(["stat", "--file-system", "--format=%a %S", "/"])).split(" ").map(Number);
    const free = ((blocks ?? 0) * (bytes ?? 0)) / 1024;
    await this.output(["fallocate", "--length", `${free - kib}KiB`, "/var/tmp/filler"]);
  }

  /** SIGKILL to everything in it, at once. Its disk stays as it is: `start` boots from it again. */
  async powerCut(): Promise<void> {
    await this.#booted?.kill();
    this.#booted = undefined;
  }

  /** Shuts down in order. */
  async powerOff(): Promise<void> {
    await this.#booted?.powerOff();
    this.#booted = undefined;
  }

  /** The end of it, and of all that it had. */
  async stop(): Promise<void> {
    await this.powerCut();
    await removeMachine(this.#facts.dir);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Arguments of nsenter that run a command as if from the machine's console. */
  #inside(argv: readonly string[], { env, user }: MachineRunOptions): string[] {
    if (this.#booted === undefined || this.#booted.over) throw new Error(`machine ${this.hostname} is off`);
    const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    const all = { HOME: "/root", LANG: "C.UTF-8", DEBIAN_FRONTEND: "noninteractive", ...this.#facts.options.env, ...env };
    const pairs = Object.entries(all).map(([key, value]) => `${key}=${value}`);
    const as = user === undefined ? [] : ["runuser", "-u", user, "--"];
    // It dies with the nsenter before it, so that a time limit ends the command too.
    const until = ["setpriv", "--pdeathsig", "KILL"];
    return ["-t", String(this.#booted.leader), "-a", "-r", "env", "-i", "-C", "/", path, ...pairs, ...as, ...until, ...argv];
  }
}

/** Options of the process on this host. */
function hereOnly({ input, limitMs }: MachineRunOptions): RunOptions {
  return { ...(input !== undefined && { input }), ...(limitMs !== undefined && { limitMs }) };
}
