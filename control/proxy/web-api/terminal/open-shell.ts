import type { ClientChannel } from "ssh2";
import type { HostAsk } from "../../../../core/api/web/terminal.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { exitStatus } from "../../../../core/ssh/exit-status.ts";
import type { SshConnection } from "../../../../core/ssh/ssh-client.ts";
import type { RoutingServices } from "../../routing/routing-services.ts";
import { type ReachAsk, reachHost } from "./reach-host.ts";
import type { Shell } from "./shell.ts";

export interface ShellAsk extends ReachAsk {
  readonly ask: HostAsk;
}

/** The browser's terminal. */
const term = "xterm-256color";

/** Opens a terminal on a host for the user of a browser. Throws PlatformError. */
export async function openShell(facts: ShellAsk, services: RoutingServices): Promise<Shell> {
  const { ask } = facts;
  const { connection, host } = await reachHost(facts, services);
  try {
    const { channel, ...ends } = await startShell(connection, { ask, host });
    const close = (): void => {
      channel.close();
      connection.end();
    };
    const resize: Shell["resize"] = ({ cols, rows }) => channel.setWindow(rows, cols, 0, 0);
    const login = ask.type === "open" ? ask.login : "";
    return { ...ends, outputs: [channel, channel.stderr], input: channel, resize, host, login, close };
  } catch (thrown) {
    connection.end();
    throw thrown;
  }
}

interface StartedShell extends Pick<Shell, "ended" | "closed"> {
  readonly channel: ClientChannel;
}

/** A program's channel as it opened: its status may follow in the same packet. */
function startShell(connection: SshConnection, { ask, host }: { readonly ask: HostAsk; readonly host: string }) {
  const { cols, rows } = ask;
  return new Promise<StartedShell>((resolve, reject) => {
    const lost = (): void => reject(new PlatformError("unavailable", `the connection to ${host} was lost`));
    connection.once("close", lost);
    try {
      connection.shell({ term, cols, rows, width: 0, height: 0 }, {}, (cause, channel) => {
        connection.off("close", lost);
        if (cause === undefined) resolve(watched(channel));
        else reject(new PlatformError("denied", `${host} refused the terminal: ${cause.message}`, { cause }));
      });
    } catch {
      // ssh2 throws once the connection has closed.
      lost();
    }
  });
}

function watched(channel: ClientChannel): StartedShell {
  let end: { readonly status?: number; readonly reason?: string } = {};
  channel.on("exit", (code: number | null, signal?: string, _dumped?: boolean, why?: string) => {
    const status = exitStatus(code, signal);
    end = { ...(status !== undefined && { status }), ...(why && { reason: why.slice(0, 2000) }) };
  });
  channel.on("error", () => {});
  const closed = [channel, channel.stderr].map((stream) => new Promise((resolve) => stream.once("close", resolve)));
  return { channel, ended: () => end, closed: Promise.all(closed) };
}
