import { basename } from "node:path";
import { version } from "./core/versions/version.ts";

/*
 * One executable, three programs by the name it is called by. Each is imported only when it is wanted, so that `tsh` never
 * loads the server and `version` loads nothing.
 */

const name = programName(process.argv0);
const args = process.argv.slice(2);

process.on("uncaughtException", (error) => {
  process.stderr.write(`ERROR: ${name}: internal error: ${error.message}\n${error.stack ?? ""}\n`);
  process.exit(1);
});

if (args.length === 1 && (args[0] === "version" || args[0] === "--version")) {
  process.stdout.write(`${name} ${version}\n`);
} else {
  ignoreEnvironmentTricks();
  void run().then((status) => {
    process.exitCode = status;
    // A handle that somebody forgot must not keep a finished command alive; output has had time to drain.
    setTimeout(() => process.exit(), 2000).unref();
  });
}

function programName(argv0: string): "platform" | "tsh" | "tctl" {
  const called = basename(argv0);
  return called === "tsh" || called === "tctl" ? called : "platform";
}

/** Variables of the runtime that would weaken TLS are without effect: trust comes from the configuration and the CA pin alone. */
function ignoreEnvironmentTricks(): void {
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  if (process.env.NODE_EXTRA_CA_CERTS === undefined) return;
  delete process.env.NODE_EXTRA_CA_CERTS;
  const tls = process.getBuiltinModule("node:tls");
  tls.setDefaultCACertificates([...tls.getCACertificates("bundled"), ...tls.getCACertificates("system")]);
}

async function run(): Promise<number> {
  if (args[0] === "__session") {
    const { runSession } = await import("./agent/ssh/session-entry.ts");
    return runSession();
  }
  const { runProgram } = await import("./cli/run-program.ts");
  return await runProgram(await programSpec(), args, { env: process.env, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });
}

async function programSpec() {
  switch (name) {
    case "tsh":
      return (await import("./cli/tsh/tsh.ts")).tsh;
    case "tctl":
      return (await import("./cli/tctl/tctl.ts")).tctl;
    case "platform":
      return (await import("./cli/platform/platform.ts")).platformProgram(services);
  }
}

const services: import("./cli/platform/services.ts").Services = {
  control: async (config, deps, signal) => {
    const [{ runControl }, { controlConfig }] = await Promise.all([import("./control/control.ts"), import("./control/config.ts")]);
    await runControl(controlConfig(config), deps, signal);
  },
  agent: async (config, { local, ...deps }, signal) => {
    const [{ runAgent }, { agentConfig }] = await Promise.all([import("./agent/agent.ts"), import("./agent/config.ts")]);
    await runAgent(agentConfig(config, local), deps, signal);
  },
};
