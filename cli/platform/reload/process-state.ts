import { z } from "zod";
import { errorCodes } from "../../../core/errors/platform-error.ts";
import { serviceNames } from "../../../core/kinds/service-kinds.ts";
import { type FailedReload, failedReloadSchema, webCertificateSchema } from "../../../core/resources/proxy-facts.ts";
import { version } from "../../../core/versions/version.ts";
import type { AgentReport, ControlReport, HostNames } from "../services.ts";

const kinds: readonly string[] = serviceNames;

/** Why a process is not connected: the last error of its agent. Codes of a later version are left out. */
export const connectionProblemSchema = z.object({ error: z.string().max(4_000), code: z.enum(errorCodes).optional().catch(undefined) });
export type ConnectionProblem = z.infer<typeof connectionProblemSchema>;

const reloadSchema = z.object({
  state: z.enum(["none", "starting", "failed", "done"]),
  pid: z.int().optional(),
  version: z.string().optional(),
  error: z.string().optional(),
  /** Code of the error, where the new process itself reported one. */
  code: z.enum(errorCodes).optional().catch(undefined),
  /** The new process ran, and could not connect while this one was connected. */
  disconnected: z.boolean().optional(),
  /** Time of the change to this state, RFC 3339. */
  at: z.string().optional(),
});
type ReloadState = z.infer<typeof reloadSchema>;

/** A process's report on its status socket. */
export const processSchema = z.object({
  pid: z.int(),
  version: z.string(),
  host_id: z.string().optional(),
  cluster: z.string().optional(),
  started: z.string(),
  /** Everything is ready; for an agent: its tunnel is up. */
  ready: z.boolean(),
  problem: connectionProblemSchema.optional().catch(undefined),
  services: z.array(z.string()),
  tunnels: z.int(),
  /** Open streams of users. */
  sessions: z.int(),
  /** `standby`: it will replace the main process; `draining`: it was replaced, and its sessions run to their end. */
  role: z.enum(["standby", "main", "draining"]),
  /** Time of the change to this role. */
  since: z.string(),
  reload: reloadSchema,
  /** The last attempted reload, when it failed; kept until one succeeds. */
  failed_reload: failedReloadSchema.optional(),
  /** Certificates of the proxy's web address that are in use. */
  web_certificates: z.array(webCertificateSchema).optional(),
  /** The configuration file. */
  config: z.string().optional(),
  /** The folder of its state. */
  data_dir: z.string().optional(),
  /** Identity of that folder at the start (device and inode). */
  data_folder: z.string().optional(),
});
export type ProcessFacts = z.infer<typeof processSchema>;

/** Where a process reads its configuration and keeps its state. */
type ProcessPlace = Pick<ProcessFacts, "config" | "data_dir" | "data_folder">;

/** This process's knowledge about itself, from its services. */
export class ProcessState {
  readonly #services: readonly string[];
  readonly #place: ProcessPlace;
  readonly #started = new Date();
  #control: ControlReport | undefined;
  #agent: AgentReport | undefined;
  #serves = false;
  #role: ProcessFacts["role"];
  #since = this.#started;
  #reload: ReloadState = { state: "none" };
  #failedReload: FailedReload | undefined;
  /** Streams of users in the earlier processes of this service. */
  elsewhere = 0;

  constructor(services: readonly string[], role: ProcessFacts["role"], place: ProcessPlace = {}) {
    this.#services = services;
    this.#role = role;
    this.#place = place;
  }

  get reload(): ReloadState {
    return this.#reload;
  }

  set reload(reload: ReloadState) {
    this.#reload = reload;
    const { state, error = "it did not take over", at } = reload;
    // A reload in progress does not clear the result of the last one.
    if (state === "failed") this.#failedReload = { at: at ?? new Date().toISOString(), error: error.replace(/\s*\n\s*/g, "; ").slice(0, 1000) };
    if (state === "done") this.#failedReload = undefined;
    this.#control?.tellSoon();
  }

  /** The last attempted reload, when it failed. */
  get failedReload(): FailedReload | undefined {
    return this.#failedReload;
  }

  reportControl(control: ControlReport): void {
    this.#control = control;
  }

  reportAgent(agent: AgentReport): void {
    this.#agent = agent;
  }

  /** Everything that the configuration enables has started. */
  serves(): void {
    this.#serves = true;
  }

  get role(): ProcessFacts["role"] {
    return this.#role;
  }

  become(role: ProcessFacts["role"]): void {
    this.#role = role;
    this.#since = new Date();
  }

  /** An agent needs its tunnel. */
  get isReady(): boolean {
    const hasAgent = this.#services.some((name) => kinds.includes(name));
    return this.#serves && (!hasAgent || this.#agent?.state().connected === true);
  }

  /** Undefined while it is connected, and where the agent does not know. */
  get problem(): ConnectionProblem | undefined {
    const problem = this.#agent?.state().problem;
    return problem && { error: problem.message.slice(0, 1_000), code: problem.code };
  }

  /** A stream to the agent of this process is relayed by its proxy too: it counts once. */
  get sessions(): number {
    return Math.max(this.#control?.state().sessions ?? 0, this.#agent?.state().sessions ?? 0);
  }

  hosts(): readonly HostNames[] {
    return this.#control?.hosts() ?? [];
  }

  expect(hosts: readonly HostNames[]): void {
    this.#control?.expect(hosts);
  }

  /** In the text format of Prometheus; empty without a control. */
  async controlMetrics(): Promise<string> {
    return (await this.#control?.metrics()) ?? "";
  }

  facts(): ProcessFacts {
    const [agent, control] = [this.#agent?.state(), this.#control?.state()];
    const cluster = agent?.cluster ?? control?.cluster;
    const { problem } = this;
    return {
      pid: process.pid,
      version,
      ...(agent !== undefined && { host_id: agent.hostId }),
      ...(cluster !== undefined && { cluster }),
      started: this.#started.toISOString(),
      ready: this.isReady && this.#role !== "draining",
      ...(problem !== undefined && { problem }),
      services: [...this.#services],
      tunnels: (agent?.tunnels ?? 0) + (control?.tunnels ?? 0),
      sessions: this.sessions,
      role: this.#role,
      since: this.#since.toISOString(),
      reload: this.#reload,
      ...(this.#failedReload !== undefined && { failed_reload: this.#failedReload }),
      ...(this.#control !== undefined && { web_certificates: [...this.#control.certificates()] }),
      ...this.#place,
    };
  }
}
