import { errorText } from "../core/errors/platform-error.ts";
import { exitWith, nameProcess, takeCodeCaches } from "../core/processes/own-process.ts";
import { runCommand } from "./commands.ts";
import { placesOf } from "./open-world.ts";
import { fieldsLine, printable } from "./output.ts";

/* Entry of the executable platform-upgrade. It must work when everything else is broken, so it imports little. */

takeCodeCaches();
// The agent, which need not be root, reads the state, and every user reads files created by a package's scripts.
process.umask(0o022);
nameProcess("platform-upgrade");

const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => stop.abort(new Error(`stopped by ${name}`)));

const write = (stream: NodeJS.WriteStream) => (line: string) => {
  stream.write(`${line}\n`);
};
// A closed output must not leave an upgrade half done.
process.stdout.on("error", () => {});
process.stderr.on("error", () => {});

const terminal = { out: write(process.stdout), err: write(process.stderr), signal: stop.signal };

function fail(thrown: unknown): void {
  if (stop.signal.aborted) terminal.err(`${errorText(stop.signal.reason)}; the next run continues from here`);
  else terminal.err(printable(thrown instanceof Error ? (thrown.stack ?? thrown.message).replaceAll("\n", " | ") : String(thrown)));
  terminal.out(fieldsLine({ reason: "internal", detail: errorText(stop.signal.aborted ? stop.signal.reason : thrown) }));
}

async function run(): Promise<number> {
  try {
    return await runCommand(process.argv.slice(2), placesOf(process.env), terminal);
  } catch (thrown) {
    fail(thrown);
    return 1;
  }
}

exitWith(run(), () => fail(new Error("the run ended early: it waited for an event that can no longer happen")));
