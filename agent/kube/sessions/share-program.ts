import { Writable } from "node:stream";
import type { LiveSessions } from "../../service/live-sessions.ts";
import { mostNotices, noticeOf } from "../../session-join/notice.ts";
import { type SharedFacts, SharedTerminal } from "../../session-join/shared-terminal.ts";
import type { TerminalSize } from "../../session-join/terminal-size.ts";
import type { ProgramInserts } from "../streams/insertion.ts";

export interface SharedProgram {
  readonly facts: SharedFacts;
  readonly inserts: ProgramInserts;
  readonly size: () => TerminalSize;
  /** Records what the owner sees besides the program's output. */
  readonly record: (bytes: Buffer) => void;
  readonly live: LiveSessions;
}

/** Maximum input of all peers that waits for a place in the owner's stream, bytes: then they are held up. */
const mostInput = 64 * 1024;

/** Lets other users join a program with a terminal in a pod, until `stopSharing`. */
export function shareProgram({ facts, inserts, size, record, live }: SharedProgram): SharedTerminal {
  const { typed, shown } = inserts;
  const input = new Writable({ highWaterMark: mostInput, write: (bytes: Buffer, _encoding, done) => typed.put(bytes, { done }) });
  const shared = new SharedTerminal({
    facts,
    input,
    size,
    tellOwner: (text) => {
      const notice = noticeOf(text);
      // The recording has exactly what the owner sees, where the owner sees it.
      if (shown.unsent < mostNotices) shown.put(notice, { onPut: () => record(notice) });
    },
    changed: () => live.onNews(),
  });
  live.add(shared);
  return shared;
}

/** Ends sharing: nobody can join any longer, and participants are notified. */
export function stopSharing(shared: SharedTerminal, live: LiveSessions): void {
  live.remove(shared);
  shared.end();
}
