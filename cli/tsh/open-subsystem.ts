import type { Client, ClientChannel } from "ssh2";
import { PlatformError } from "../../core/errors/platform-error.ts";

/**
 * A channel to a subsystem of the host, as converted by `take` in the same turn in which it opened. Throws `denied`, or `unavailable`
 * when the connection is lost. `host` is for messages.
 */
export function openSubsystem<T>(
  client: Client,
  { name, host }: { readonly name: string; readonly host: string },
  take: (channel: ClientChannel) => T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new PlatformError("unavailable", `the connection to ${host} was lost`));
    client.once("close", lost);
    const opened = (cause: Error | undefined, channel: ClientChannel): void => {
      client.off("close", lost);
      if (cause === undefined) resolve(take(channel));
      else reject(new PlatformError("denied", `${host} refused the subsystem ${name}: ${cause.message}`, { cause }));
    };
    // ssh2 throws once the connection has closed.
    try {
      client.subsys(name, opened);
    } catch {
      lost();
    }
  });
}
