import { closeSync, readFileSync, writeSync } from "node:fs";
import { errorText } from "../../../core/errors/platform-error.ts";
import { becomeUser, closeInherited, enterHome } from "../program/become-user.ts";
import { OpenHandles } from "./open-handles.ts";
import { serveFiles } from "./serve-files.ts";
import { AccountNames } from "./sftp-context.ts";
import type { SftpInstructions } from "./sftp-messages.ts";
import { SftpReporter } from "./sftp-reporter.ts";

/** The instructions come through the first and an error goes back; it is closed when SFTP starts. Reports go through the second. */
const [instructionsFd, reportsFd] = [3, 4] as const;
/** Exit status of OpenSSH's sftp-server after a stream that is not SFTP. */
const malformedStatus = 11;

/**
 * Internal command `platform __sftp`: becomes the user and serves SFTP on the standard streams. None of it runs with more
 * than the user's rights, and only root may inspect or trace it, since it was root's process.
 */
export function runSftp(): never {
  let home: string;
  try {
    const instructions = JSON.parse(readFileSync(instructionsFd, "utf8")) as SftpInstructions;
    if (instructions.keepsGroups !== true) process.umask(0o022);
    if (instructions.becomeUser) becomeUser(instructions);
    ({ home } = instructions);
    enterHome(home);
    closeInherited([instructionsFd, reportsFd]);
  } catch (thrown) {
    writeSync(instructionsFd, errorText(thrown));
    process.exit(255);
  }
  closeSync(instructionsFd);
  return serve(home);
}

function serve(home: string): never {
  const reporter = new SftpReporter((report) => writeAll(`${JSON.stringify(report)}\n`));
  const handles = new OpenHandles();
  let status = 0;
  try {
    serveFiles({ handles, names: new AccountNames(), home, reporter, now: Date.now }, 0, 1);
  } catch (thrown) {
    // A client that has disconnected cannot be answered.
    if ((thrown as NodeJS.ErrnoException).code !== "EPIPE") {
      status = malformedStatus;
      process.stderr.write(`sftp: ${errorText(thrown)}\n`);
    }
  }
  reporter.finish(handles.drain().filter((entry) => entry.kind === "file"));
  process.exit(status);
}

function writeAll(line: string): void {
  const bytes = Buffer.from(line);
  for (let written = 0; written < bytes.length; ) written += writeSync(reportsFd, bytes, written);
}
