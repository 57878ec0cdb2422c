import { inflateMember } from "./inflate-member.ts";
import { MemberSplitter } from "./member-splitter.ts";
import type { RecordingSource } from "./recording-source.ts";

/** Lines that stand together in a recording. */
export interface Lines {
  readonly lines: readonly string[];
  /** Offset after them. */
  readonly end: number;
  /** Whether something is missing before them. */
  readonly isDamaged: boolean;
}

export interface ReadAsk {
  /** Offset of a member, bytes. */
  readonly from: number;
  readonly signal: AbortSignal;
}

/** The lines of a recording in order up to its present end, a member at a time. Throws what the source throws. */
export async function* readLines(source: Pick<RecordingSource, "read">, { from, signal }: ReadAsk): AsyncGenerator<Lines> {
  const splitter = new MemberSplitter(from);
  let [offset, isDamaged] = [from, false];
  for (;;) {
    signal.throwIfAborted();
    const bytes = await source.read(offset, signal);
    if (bytes.length === 0) return;
    offset += bytes.length;
    for (const item of splitter.push(bytes)) {
      signal.throwIfAborted();
      const text = "member" in item ? await inflateMember(item.member) : undefined;
      if (text === undefined || !("member" in item)) {
        isDamaged = true;
        continue;
      }
      yield { lines: text.split("\n").filter((line) => line !== ""), end: item.end, isDamaged };
      isDamaged = false;
    }
  }
}
