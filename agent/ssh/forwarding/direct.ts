import type { Socket } from "node:net";
import type { AcceptConnection, Channel, RejectConnection } from "ssh2";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { couple } from "../../../core/ssh/couple.ts";
import { type OpenRefusal, refuseChannel } from "../../../core/ssh/refuse-channel.ts";
import { type Forwarding, noForwarding } from "./forwarding.ts";

/** A channel that the client asks to open to some destination. */
export interface DirectAsk {
  readonly accept: AcceptConnection<Channel>;
  readonly reject: RejectConnection;
  /** Description for the audit log. */
  readonly addr: string;
  readonly connect: () => Promise<Socket>;
}

/** `direct-tcpip` and `direct-streamlocal@openssh.com`: connects, then answers, then copies. Resolves at its end; never throws. */
export async function direct(forwarding: Forwarding, { accept, reject, addr, connect }: DirectAsk): Promise<void> {
  const { connection, facts, slots, report, gone } = forwarding;
  const refuse = (refusal: OpenRefusal): void => refuseChannel(connection, reject, refusal);
  if (!facts.grant.rules.portForwarding) {
    await report.note({ direction: "local", addr, error: noForwarding }).catch(() => {});
    return refuse({ reason: "administratively prohibited", text: noForwarding });
  }
  const release = slots.take();
  if (release === undefined) return refuse({ reason: "resource shortage", text: "too many forwarded connections" });
  try {
    const socket = await connectAndRecord(forwarding, { addr, connect });
    if (gone.aborted) socket.destroy();
    else await couple(accept(), socket, gone);
  } catch (thrown) {
    refuse({ reason: "connect failed", text: errorText(thrown) });
  } finally {
    release();
  }
}

async function connectAndRecord({ report }: Forwarding, { addr, connect }: Pick<DirectAsk, "addr" | "connect">): Promise<Socket> {
  let socket: Socket;
  try {
    socket = await connect();
  } catch (thrown) {
    const error = thrown instanceof PlatformError ? thrown.message : "internal error";
    await report.note({ direction: "local", addr, error });
    throw thrown;
  }
  try {
    // It has no listener until it is coupled.
    socket.on("error", () => {});
    await report.note({ direction: "local", addr });
    return socket;
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  }
}
