import type { ClientChannel } from "ssh2";
import type { TerminalAsk } from "../../../../core/api/web/terminal.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { exitStatus } from "../../../../core/ssh/exit-status.ts";
import type { SshConnection } from "../../../../core/ssh/ssh-client.ts";
import type { RoutingServices } from "../../routing/routing-services.ts";
import { type ReachAsk, reachHost } from "./reach-host.ts";

export interface ShellAsk extends ReachAsk {
  readonly ask: TerminalAsk;
}

/** A program with a terminal on a host, in the user's name. */
export interface Shell {
  readonly channel: ClientChannel;
  readonly connection: SshConnection;
  readonly host: string;
  readonly login: string;
  /** Status of the program, and the host's reason for an end, once they are reported. */
  readonly ended: () => { readonly status?: number; readonly reason?: string };
  /** All output has been read. */
  readonly closed: Promise<unknown>;
}

/** The browser's terminal. */
const term = "xterm-256color";

/** Opens a terminal for the user of a browser. Throws PlatformError. */
export async function openShell(facts: ShellAsk, services: RoutingServices): Promise<Shell> {
  const { ask } = facts;
  const { connection, host } = await reachHost(facts, services);
  try {
    return { ...(await startShell(connection, { ask, host })), connection, host, login: ask.type === "open" ? ask.login : "" };
  } catch (thrown) {
    connection.end();
    throw thrown;
  }
}

/** A program's channel as it opened: its status may follow in the same packet. */
function startShell(connection: SshConnection, { ask, host }: { readonly ask: TerminalAsk; readonly host: string }) {
  const { cols, rows } = ask;
  return new Promise<Pick<Shell, "channel" | "ended" | "closed">>((resolve, reject) => {
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

function watched(channel: ClientChannel): Pick<Shell, "channel" | "ended" | "closed"> {
  let end: { readonly status?: number; readonly reason?: string } = {};
  channel.on("exit", (code: number | null, signal?: string, _dumped?: boolean, why?: string) => {
    const status = exitStatus(code, signal);
    end = { ...(status !== undefined && { status }), ...(why && { reason: why.slice(0, 2000) }) };
  });
  channel.on("error", () => {});
  const closed = [channel, channel.stderr].map((stream) => new Promise((resolve) => stream.once("close", resolve)));
  return { channel, ended: () => end, closed: Promise.all(closed) };
}
