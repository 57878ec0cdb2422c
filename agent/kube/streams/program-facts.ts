import { z } from "zod";
import type { StatusObject } from "../http/status-response.ts";

/** Longest text of sizes of a terminal that wait for their end, bytes. */
const maxSize = 1_024;

/** Collects the sizes that a client sends: JSON objects, one after the other. */
export class SizeText {
  #text = "";

  /** The last complete one. */
  take(bytes: Buffer): { readonly columns: number; readonly rows: number } | undefined {
    this.#text += bytes.toString("latin1");
    const end = this.#text.lastIndexOf("}");
    if (end < 0) {
      if (this.#text.length > maxSize) this.#text = "";
      return undefined;
    }
    const begin = this.#text.lastIndexOf("{", end);
    const last = jsonOf(this.#text.slice(begin, end + 1));
    this.#text = this.#text.slice(end + 1).slice(0, maxSize);
    const parsed = sizeSchema.safeParse(last);
    return parsed.success ? { columns: parsed.data.Width, rows: parsed.data.Height } : undefined;
  }
}

const sizeSchema = z.object({ Width: z.int().min(1).max(65_535), Height: z.int().min(1).max(65_535) });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The content of the error stream of a session that the platform ends. Pure. */
export function endedStatus(message: string): Buffer {
  const status: StatusObject = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason: "Forbidden", code: 403 };
  return Buffer.from(JSON.stringify(status));
}
