import { basename } from "node:path";
import { crashText } from "./core/errors/crash-text.ts";
import { exitWith, nameProcess, takeCodeCaches } from "./core/processes/own-process.ts";
import { version } from "./core/versions/version.ts";

/*
 * One executable, three programs by the name it is called by. Each is loaded only when it is wanted, so that `tsh` never
 * loads the server and `version` loads nothing. The build makes a part of its own of every dynamic import in this file.
 */

takeCodeCaches();
const name = programName(process.argv0);
const args = process.argv.slice(2);
nameProcess(name);

process.on("uncaughtException", (thrown: unknown) => {
  process.stderr.write(crashText(name, thrown));
  process.exit(1);
});

if (args.length === 1 && (args[0] === "version" || args[0] === "--version")) {
  // Only here: the entries below write to their standard output in their own way, which Node's stream would make non-blocking.
  process.stdout.on("error", () => {}).write(`${name} ${version}\n`);
} else {
  ignoreEnvironmentTricks();
  exitWith(run(), () => {
    const line = `ERROR: ${name} ended before it was done: it waited for something that can no longer come`;
    process.stderr.write(`${line}\nthis is a fault of the program; nothing that it was doing counts as done: try again\n`);
  });
}

function programName(argv0: string): "platform" | "tsh" | "tctl" {
  const called = basename(argv0);
  return called === "tsh" || called === "tctl" ? called : "platform";
}

/** Variables of the runtime that would weaken TLS are without effect: trust comes from the system, the configuration and the CA pin. */
function ignoreEnvironmentTricks(): void {
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  if (process.env.NODE_EXTRA_CA_CERTS === undefined) return;
  delete process.env.NODE_EXTRA_CA_CERTS;
  // The runtime has read it already. All our connections name their authorities; what would not, trusts nobody.
  process.getBuiltinModule("node:tls").setDefaultCACertificates([]);
}

async function run(): Promise<number> {
  if (args[0] === "__sftp") return (await import("./agent/ssh/sftp/sftp-entry.ts")).runSftp();
  if (args[0] === "__socket") return await (await import("./agent/ssh/forwarding/socket-entry.ts")).runSocket();
  switch (name) {
    case "tsh":
      return await (await import("./programs/tsh.ts")).run(args);
    case "tctl":
      return await (await import("./programs/tctl.ts")).run(args);
    case "platform":
      if (args[0] === "kube-updater") return await (await import("./programs/kube-updater.ts")).run(args.slice(1));
      return await (await import("./programs/platform.ts")).run(args);
  }
}
