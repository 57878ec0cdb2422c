import { z } from "zod";
import type { StatusObject } from "../http/status-response.ts";
import type { ProgramExit } from "./stream-tap.ts";

/** Longest text of an error stream, and of sizes of a terminal that wait for their end, bytes. */
const maxStatus = 64 * 1024;
const maxSize = 1_024;

const statusSchema = z.object({
  status: z.string().optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z.object({ causes: z.array(z.object({ reason: z.string().optional(), message: z.string().optional() })).optional() }).optional(),
});

/** Collects an error stream, up to its limit. */
export class StatusText {
  #text: Buffer = Buffer.alloc(0);

  /** What it states so far. */
  take(bytes: Buffer): ProgramExit {
    if (this.#text.length + bytes.length <= maxStatus) this.#text = Buffer.concat([this.#text, bytes]);
    return exitOf(this.#text.toString("utf8"));
  }
}

/** What an error stream states: JSON from protocol v4 on, a line of text before. Pure. */
export function exitOf(text: string): ProgramExit {
  const status = statusSchema.safeParse(jsonOf(text));
  if (!status.success) return { error: text.slice(0, 2_000) };
  const { status: outcome, message = "", reason, details } = status.data;
  if (outcome === "Success") return { code: 0 };
  const code = details?.causes?.find((cause) => cause.reason === "ExitCode")?.message;
  if (reason === "NonZeroExitCode" && code !== undefined && /^\d{1,5}$/.test(code)) return { code: Number(code) };
  return { error: message.slice(0, 2_000) };
}

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

/** What the error stream of a session says that the platform ends. Pure. */
export function endedStatus(message: string): Buffer {
  const status: StatusObject = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason: "Forbidden", code: 403 };
  return Buffer.from(JSON.stringify(status));
}
