import type { PlatformError } from "../errors/platform-error.ts";
import { refuseOpen } from "./ssh2/hooks.ts";
import type { SshEnd } from "./subscriber.ts";

/** RFC 4254 section 5.1; a client such as ssh(1) prints the reason's name, then the text. */
const reasons = { "administratively prohibited": 1, "connect failed": 2, "resource shortage": 4 } as const;

export interface OpenRefusal {
  readonly reason: keyof typeof reasons;
  readonly text: string;
}

/** Refuses a channel that the peer requests, with a reason and a text. `reject` is ssh2's function for this channel. */
export function refuseChannel(connection: SshEnd, reject: () => void, { reason, text }: OpenRefusal): void {
  refuseOpen(connection, reject, { reason: reasons[reason], text });
}

/** The refusal of something that is not permitted, or no more of. */
export function prohibited({ message, hint }: PlatformError): OpenRefusal {
  const text = hint === undefined ? message : `${message} (${hint})`;
  return { reason: "administratively prohibited", text: text.slice(0, 1000) };
}
