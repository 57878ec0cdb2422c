import { MemberSplitter } from "./member-splitter.ts";
import type { RecordingSource } from "./recording-source.ts";

/** Longest text of a member, bytes. */
const maxText = 1024 * 1024;

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

/** Text of a member; undefined for one that is damaged, or longer than any that is written. */
async function inflateMember(member: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
  const reader = new Blob([member]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let length = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      length += part.value.length;
      if (length > maxText) {
        await reader.cancel();
        return undefined;
      }
      parts.push(decoder.decode(part.value, { stream: true }));
    }
  } catch {
    return undefined;
  }
  return parts.join("") + decoder.decode();
}
