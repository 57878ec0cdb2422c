import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, resolve } from "node:path";
import type { PlatformConfig } from "../../core/config/platform-config.ts";
import { readConfigFile } from "../../core/config/read-config-file.ts";
import { errorText } from "../../core/errors/platform-error.ts";
import { createLog, type Log, type LogLevel } from "../../core/log/log.ts";
import { processAddon } from "../../core/processes/process-addon.ts";
import { formatHostPort, parseHostPort } from "../../core/transport/host-port.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { version } from "../../core/versions/version.ts";
import type { CommandSpec, Options } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Result, textResult } from "../output.ts";
import { certificatesOf, checkStart, enabledServices } from "./check-start.ts";
import { defaultConfigFile } from "./choose-config-file.ts";
import { serveDiagnostics } from "./diagnostics.ts";
import { usablePidFile } from "./pid-file.ts";
import { openLife } from "./reload/open-life.ts";
import { Predecessor } from "./reload/predecessor.ts";
import { ProcessState } from "./reload/process-state.ts";
import { openDataFolder, requireSameFolder } from "./reload/same-folder.ts";
import { runServices } from "./run-services.ts";
import type { Services } from "./services.ts";

export function startCommand(services: Services): CommandSpec {
  return {
    name: "start",
    summary: "run the services that the configuration enables",
    options: [
      { flags: "-c, --config <file>", text: "configuration file; default /etc/platform.yaml" },
      { flags: "--pid-file <file>", text: "write the process id to this file" },
      { flags: "--diag-addr <address>", text: "serve /healthz, /readyz and /metrics at this address" },
      { flags: "-d, --debug", text: "log everything" },
      { flags: "--check", text: "start nothing: check the configuration, its certificates and its files" },
    ],
    examples: ["platform start --check && systemctl reload platform"],
    run: async (call) => (call.options.flag("check") ? await checkStart(services, call) : await start(services, call.io, call.options)),
  };
}

/** A successor reports its failure to the previous process. */
async function start(services: Services, io: CliIo, options: Options): Promise<Result> {
  const predecessor = await Predecessor.find(io.env);
  try {
    return await run({ services, io, options, predecessor });
  } catch (thrown) {
    predecessor?.failed(thrown);
    throw thrown;
  }
}

interface Starting {
  readonly services: Services;
  readonly io: CliIo;
  readonly options: Options;
  readonly predecessor: Predecessor | undefined;
}

async function run({ services, io, options, predecessor }: Starting): Promise<Result> {
  forbidDumps();
  const file = resolve(options.text("config") ?? defaultConfigFile);
  const { config, warnings } = await readConfigFile(file, hostname());
  const { data_dir: dataDir } = config.platform;
  await requireSameFolder(predecessor, dataDir);
  const dataFolder = await openDataFolder(dataDir);
  const diagnostics = options.text("diagAddr");
  const diagAddress = diagnostics === undefined ? config.platform.diag_addr : parseHostPort(diagnostics, undefined, "--diag-addr");

  await using opened = await openLog(config.platform.log, io, options.flag("debug") ? "debug" : undefined);
  const { log } = opened;
  await using stack = new AsyncDisposableStack();
  const names = enabledServices(config);
  const state = new ProcessState(names, predecessor === undefined ? "main" : "standby", {
    ...{ config: file, data_dir: dataDir },
    ...(dataFolder.folder !== undefined && { data_folder: dataFolder.folder }),
  });
  const sockets = new ListenSockets(predecessor?.sockets, predecessor !== undefined);
  const runtimeDirectory = io.env.RUNTIME_DIRECTORY?.split(":")[0];
  const pidFile = findPidFile(options.text("pidFile") ?? config.platform.pid_file, runtimeDirectory, log);
  const life = stack.use(
    await openLife({ log, env: io.env, isTerminal: io.stdin.isTTY === true, state, sockets, dataFolder, pidFile, runtimeDirectory, predecessor }),
  );
  log.info("platform starts", await startFacts({ services, config, file, names }));
  for (const warning of warnings) log.warn(warning);
  if (diagAddress !== undefined) {
    const ready = (): boolean => state.isReady && !life.stopping.aborted;
    const served = stack.use(await serveDiagnostics(diagAddress, { ready, sockets, metrics: () => processMetrics(state) }));
    // The next process has the socket too: it answers from now on.
    life.retire.addEventListener("abort", () => void served[Symbol.asyncDispose](), { once: true });
    log.info("diagnostics", { address: formatHostPort(served.address) });
  }
  life.begin();
  try {
    const certificatesInUse = predecessor === undefined ? [] : await certificatesOf(runtimeDirectory);
    await runServices({ services, config, log, env: io.env, sockets, state, retire: life.retire, certificatesInUse }, life.stopping);
  } catch (thrown) {
    log.error("stopped by an error", { reason: errorText(thrown) });
    // Before the life ends, and with it the channel for the report.
    if (state.role === "standby") predecessor?.failed(thrown);
    throw thrown;
  }
  log.info(state.role === "draining" ? "stopped: the last session of this replaced process has ended" : "stopped");
  return textResult("");
}

function findPidFile(wanted: string | undefined, runtimeDirectory: string | undefined, log: Log): string | undefined {
  if (wanted === undefined) return undefined;
  const file = usablePidFile(resolve(wanted), runtimeDirectory);
  if (file === resolve(wanted)) return file;
  log.warn("this user may not write the pid file: it is in the runtime directory instead", {
    wanted,
    file,
    hint: "for `systemctl reload`, add to the unit: ExecReload= and ExecReload=/bin/kill -HUP $MAINPID",
  });
  return file;
}

interface StartFacts {
  readonly services: Services;
  readonly config: PlatformConfig;
  readonly file: string;
  readonly names: readonly string[];
}

async function startFacts({ services, config, file, names }: StartFacts): Promise<Readonly<Record<string, unknown>>> {
  return { version, node: process.versions.node, ssh_crypto: await services.sshCrypto(config), services: names.join(","), config: file };
}

/** A core file would hold keys of hosts and of authorities. Where the addon cannot be loaded, LimitCORE of the unit does the same. */
function forbidDumps(): void {
  try {
    processAddon()?.forbidDumps();
  } catch {
    // No folder allows programs here (noexec): the SSH library continues in JavaScript, and reports it.
  }
}

/** Metrics of every process, in the text format of Prometheus, followed by those of its control. */
export async function processMetrics(state: ProcessState): Promise<string> {
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, value: number): void => new Gauge({ name, help, registers }).set(value);
  const { services, tunnels, sessions, ready, started } = state.facts();
  const labelNames = ["version", "node", "services"];
  new Gauge({ name: "platform_build_info", help: "1, labelled with the running version", labelNames, registers }).set(
    { version, node: process.versions.node, services: services.join(",") },
    1,
  );
  gauge("platform_ready", "1 when every configured service is ready, else 0", ready ? 1 : 0);
  gauge("platform_tunnels", "Open tunnels: of agents to this proxy, and of this agent", tunnels);
  gauge("platform_sessions", "Open user streams in this process", sessions);
  gauge("platform_reload_failed", "1 while the last attempted reload has failed, else 0", state.failedReload === undefined ? 0 : 1);
  gauge("process_start_time_seconds", "Start time of the process, Unix time", Date.parse(started) / 1000);
  gauge("process_resident_memory_bytes", "Resident memory", process.memoryUsage.rss());
  const { user, system } = process.cpuUsage();
  new Counter({ name: "process_cpu_seconds_total", help: "CPU time, user and system", registers }).inc((user + system) / 1e6);
  return (await registry.metrics()) + (await state.controlMetrics());
}

interface OpenLog extends AsyncDisposable {
  readonly log: Log;
}

/** Maximum output that waits for a slow disk or terminal, bytes; further lines are lost. */
const maxWaiting = 8 * 1024 * 1024;

/** The log as configured. `level` overrides its severity. */
async function openLog(settings: PlatformConfig["platform"]["log"], io: CliIo, level: LogLevel = settings.severity): Promise<OpenLog> {
  const own = settings.output !== "stderr" && settings.output !== "stdout";
  if (own) await mkdir(dirname(settings.output), { recursive: true });
  const stream = own ? createWriteStream(settings.output, { flags: "a", mode: 0o600 }) : settings.output === "stdout" ? io.stdout : io.stderr;
  if (own) stream.on("error", (error: Error) => io.stderr.write(`ERROR: could not write the log: ${error.message}\n`));
  const write = (line: string): void => {
    if (stream.writableLength < maxWaiting && !stream.destroyed) stream.write(line);
  };
  const log = createLog({ level, format: settings.format.output, write });
  return {
    log,
    [Symbol.asyncDispose]: async () => {
      if (own && !stream.destroyed) await new Promise<void>((resolve) => stream.end(resolve));
    },
  };
}
