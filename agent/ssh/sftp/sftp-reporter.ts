import { shownText } from "../../../core/bytes/shown-text.ts";
import type { SftpAction } from "../../../core/kinds/ssh/file-events.ts";
import type { OpenFile } from "./open-handles.ts";
import { type Reply, statusOf } from "./reply.ts";
import type { SftpReport } from "./sftp-messages.ts";

/** Maximum actions of one kind that a session reports one by one; the summary counts all. */
const mostOfKind = 256;

interface Told {
  readonly action: SftpAction;
  readonly path: Buffer;
  readonly target?: Buffer;
  readonly flags?: string;
}

/** Reports this session's actions to the agent: changes and opened files one by one up to a limit, and the totals at its end. */
export class SftpReporter {
  readonly #send: (report: SftpReport) => void;
  readonly #counts = new Map<SftpAction, number>();
  readonly #sums = { files_read: 0, files_written: 0, bytes_read: 0, bytes_written: 0, failed: 0, left_out: 0 };

  constructor(send: (report: SftpReport) => void) {
    this.#send = send;
  }

  /** Runs the action and reports its outcome. Throws what the action throws. */
  tell({ action, path, target, flags }: Told, perform: () => Reply): Reply {
    let error: string | undefined;
    try {
      const reply = perform();
      if (reply.type === "status" && reply.status !== "ok") error = reply.message;
      return reply;
    } catch (thrown) {
      error = statusOf(thrown).message;
      throw thrown;
    } finally {
      if (error !== undefined) this.#sums.failed += 1;
      const count = (this.#counts.get(action) ?? 0) + 1;
      this.#counts.set(action, count);
      if (count > mostOfKind) this.#sums.left_out += 1;
      else {
        const more = {
          ...(target && { target_path: shownPath(target) }),
          ...(flags !== undefined && { flags }),
          ...(error !== undefined && { error }),
        };
        this.#send({ event: "sftp", action, path: shownPath(path), ...more });
      }
    }
  }

  closed({ bytesRead, bytesWritten }: OpenFile): void {
    this.#sums.bytes_read += bytesRead;
    this.#sums.bytes_written += bytesWritten;
    if (bytesRead > 0) this.#sums.files_read += 1;
    if (bytesWritten > 0) this.#sums.files_written += 1;
  }

  /** The last report. */
  finish(left: readonly OpenFile[]): void {
    for (const file of left) this.closed(file);
    const actions = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
    this.#send({ event: "sftp_summary", actions, ...this.#sums });
  }
}

const longestPath = 1024;

export function shownPath(path: Buffer): string {
  return shownText(path).slice(0, longestPath);
}
