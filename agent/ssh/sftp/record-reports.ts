import type { Readable } from "node:stream";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { SessionChannel } from "../session-channel.ts";
import { sessionFacts } from "../session-facts.ts";
import { type SftpReport, sftpReportSchema } from "./sftp-report.ts";

/** Longest report, and maximum reports of one session: the process stays below both. */
const maxLine = 32 * 1024;
const maxReports = 4096;

/** Records the process's reports, until it ends. A report that is invalid or cannot be recorded is logged; never throws. */
export async function recordReports(channel: SessionChannel, reports: Readable | undefined): Promise<void> {
  const { audit, log } = channel.facts.deps;
  let count = 0;
  try {
    for await (const line of linesOf(reports)) {
      count += 1;
      if (count > maxReports) throw new PlatformError("limit", `more than ${maxReports} reports`);
      await audit.record({ ...sessionFacts(channel.facts, channel.sid), ...parseReport(line) });
    }
  } catch (thrown) {
    log.error("could not record the actions of an SFTP session", { sid: channel.sid, error: errorText(thrown) });
    reports?.resume();
  }
}

function parseReport(line: string): SftpReport {
  return sftpReportSchema.parse(JSON.parse(line));
}

async function* linesOf(source: Readable | undefined): AsyncGenerator<string> {
  let rest = "";
  source?.setEncoding("utf8");
  for await (const chunk of source?.iterator({ destroyOnReturn: false }) ?? []) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > maxLine) throw new PlatformError("limit", "a report is too long");
    yield* lines;
  }
}
