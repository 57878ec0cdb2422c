import { z } from "zod";

/* How a program in a container ended, as the error stream of its connection states it (k8s.io/apimachinery, meta/v1 Status). */

export interface ProgramExit {
  /** Undefined where it is not known. */
  readonly code?: number;
  readonly error?: string;
}

/** Longest text of an error stream, bytes. */
const maxStatus = 64 * 1024;

const statusSchema = z.object({
  status: z.string().optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z.object({ causes: z.array(z.object({ reason: z.string().optional(), message: z.string().optional() })).optional() }).optional(),
});

/** Collects the beginning of an error stream, which is read when it is asked for: nothing has to state its end, and a server may send it byte by byte. */
export class StatusText {
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  take(bytes: Buffer): void {
    const length = Math.min(this.#length + bytes.length, maxStatus);
    if (length > this.#buffer.length) {
      const grown = Buffer.alloc(Math.min(2 * length, maxStatus));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  /** What it states so far; undefined: nothing. */
  get exit(): ProgramExit | undefined {
    return this.#length === 0 ? undefined : exitOf(this.#buffer.toString("utf8", 0, this.#length));
  }
}

/** What an error stream states: JSON from protocol v4 on, a line of text before. Pure. */
function exitOf(text: string): ProgramExit {
  const status = statusSchema.safeParse(jsonOf(text));
  if (!status.success) return { error: text.slice(0, 2_000) };
  const { status: outcome, message = "", reason, details } = status.data;
  if (outcome === "Success") return { code: 0 };
  const code = details?.causes?.find((cause) => cause.reason === "ExitCode")?.message;
  if (reason === "NonZeroExitCode" && code !== undefined && /^\d{1,5}$/.test(code)) return { code: Number(code) };
  return { error: message.slice(0, 2_000) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
