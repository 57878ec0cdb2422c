import type { Connection } from "ssh2";
import { PlatformError } from "../errors/platform-error.ts";
import { subscribe } from "./ssh2/hooks.ts";

export interface RefusalLimits {
  /** Maximum refused channels within the time, after which the peer counts as malicious. */
  readonly most: number;
  readonly ms: number;
}
/** An editor or a browser behind a proxy may well request missing ports a thousand times. */
export const usualRefusals: RefusalLimits = { most: 2000, ms: 60_000 };

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
