import { hostname } from "node:os";
import { resolve } from "node:path";
import type { PlatformConfig } from "../../core/config/platform-config.ts";
import { readConfigFile } from "../../core/config/read-config-file.ts";
import { errorText } from "../../core/errors/platform-error.ts";
import { formatHostPort, parseHostPort } from "../../core/transport/host-port.ts";
import { version } from "../../core/versions/version.ts";
import type { CommandSpec, Options } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Result, textResult } from "../output.ts";
import { serveDiagnostics } from "./diagnostics.ts";
import { openLog } from "./open-log.ts";
import { takePidFile } from "./pid-file.ts";
import { runServices } from "./run-services.ts";
import type { Services } from "./services.ts";
import { stopSignals } from "./stop-signals.ts";

export function startCommand(services: Services): CommandSpec {
  return {
    name: "start",
    summary: "run the services that the configuration enables",
    options: [
      { flags: "-c, --config <file>", text: "configuration file; default /etc/platform.yaml" },
      { flags: "--pid-file <file>", text: "write the process id here" },
      { flags: "--diag-addr <address>", text: "serve /healthz and /readyz here" },
      { flags: "-d, --debug", text: "log everything" },
    ],
    run: async ({ io, options }) => await start(services, io, options),
  };
}

async function start(services: Services, io: CliIo, options: Options): Promise<Result> {
  const file = resolve(options.text("config") ?? "/etc/platform.yaml");
  const { config, warnings } = await readConfigFile(file, hostname());
  const diagnostics = options.text("diagAddr");
  const diagAddress = diagnostics === undefined ? config.platform.diag_addr : parseHostPort(diagnostics, undefined, "--diag-addr");
  const pidFile = options.text("pidFile") ?? config.platform.pid_file;

  await using opened = await openLog(config.platform.log, io, options.flag("debug") ? "debug" : undefined);
  const { log } = opened;
  await using stack = new AsyncDisposableStack();
  if (pidFile !== undefined) stack.use(await takePidFile(resolve(pidFile)));
  const stopping = stack.use(stopSignals(log));
  log.info("platform starts", await startFacts(services, config, file));
  for (const warning of warnings) log.warn(warning);
  const state = { ready: false };
  if (diagAddress !== undefined) {
    const served = stack.use(await serveDiagnostics(diagAddress, () => state.ready && !stopping.signal.aborted));
    log.info("diagnostics", { address: formatHostPort(served.address) });
  }
  const ready = (): void => {
    state.ready = true;
  };
  try {
    await runServices({ services, config, log, env: io.env, ready }, stopping.signal);
  } catch (thrown) {
    log.error("ended by a fault", { reason: errorText(thrown) });
    throw thrown;
  }
  log.info("stopped");
  return textResult("");
}

async function startFacts(services: Services, config: PlatformConfig, file: string): Promise<Readonly<Record<string, unknown>>> {
  const sections = { auth: config.auth_service, proxy: config.proxy_service, ssh: config.ssh_service };
  const enabled = Object.entries(sections).flatMap(([name, section]) => (section.enabled ? [name] : []));
  return { version, node: process.versions.node, ssh_crypto: await services.sshCrypto(config), services: enabled.join(","), config: file };
}
