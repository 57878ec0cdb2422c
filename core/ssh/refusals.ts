import type { Connection } from "ssh2";
import { isErrorCode, PlatformError } from "../errors/platform-error.ts";
import { refuseOpen, subscribe } from "./ssh2/hooks.ts";
import type { SshEnd } from "./subscriber.ts";

/**
 * SSH refuses a login without a reason. Our server sends it in a banner before (RFC 4252 section 5.4), which any client shows;
 * our client reads it back: `refused (denied): the reason`.
 */
export function refusalBanner(error: PlatformError): string {
  return `refused (${error.code}): ${plain(error.message)}${error.hint === undefined ? "" : `; ${plain(error.hint)}`}\r\n`;
}

/** The error in a banner, or undefined for any other banner. The text is a peer's: bounded, without control characters. */
export function readRefusal(banner: string): PlatformError | undefined {
  const [, code, text] = /^refused \(([a-z_]{1,20})\): (.*)/.exec(banner.slice(0, 2000)) ?? [];
  if (code === undefined || text === undefined || !isErrorCode(code)) return undefined;
  return new PlatformError(code, plain(text));
}

function plain(text: string): string {
  return text
    .replace(/\p{C}+/gu, " ")
    .trim()
    .slice(0, 1000);
}

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

interface RefusalLimits {
  /** Maximum refused channels within the time, after which the peer counts as malicious. */
  readonly most: number;
  readonly ms: number;
}

/** An editor or a browser behind a proxy may well request missing ports a thousand times. */
const usualRefusals: RefusalLimits = { most: 2000, ms: 60_000 };

/** Calls back once when so many channels of a connection were refused in a short time that its peer must be malicious. */
export function guardRefusals(connection: Connection, tooMany: (why: PlatformError) => void, limits = usualRefusals): void {
  let began = performance.now();
  let count = 0;
  const refused = (): void => {
    const now = performance.now();
    if (now - began > limits.ms) [began, count] = [now, 0];
    count += 1;
    if (count === limits.most)
      tooMany(new PlatformError("limit", `this connection was ended: ${count} channels were refused in ${limits.ms / 1000} s`));
  };
  subscribe(connection, { refused });
}
