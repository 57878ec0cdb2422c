import { connect, type Socket } from "node:net";
import type { AcceptConnection, Channel, RejectConnection } from "ssh2";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { couple } from "../../../core/ssh/couple.ts";
import { refuseChannel } from "../../../core/ssh/refusals.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import { writeNote } from "../../output.ts";
import type { Endpoint, ForwardSpec } from "./forward-spec.ts";
import type { Forwards } from "./local-forwards.ts";

/** Time limit of a connection to the target of a `-R`, ms. */
const connectMs = 20_000;

/** Connects arrivals at the host's listeners to the target of their `-R`. */
export class RemoteForwards {
  readonly #forwards: Forwards;
  /** By the address that the host reports. */
  readonly #targets = new Map<string, Endpoint>();

  constructor(forwards: Forwards) {
    this.#forwards = forwards;
    forwards.client.on("tcp connection", ({ destIP: host, destPort: port }, accept, reject) => {
      void this.#serve(formatHostPort({ host, port }), accept, reject);
    });
    forwards.client.on("unix connection", ({ socketPath }, accept, reject) => void this.#serve(socketPath, accept, reject));
  }

  /** Asks the host to listen. Throws `denied` in ssh's own words. */
  ask({ listen, connect: to }: ForwardSpec): Promise<void> {
    const { client, io } = this.#forwards;
    return new Promise((resolve, reject) => {
      const refused = (): void => {
        const where = "path" in listen ? `path ${listen.path}` : `port ${listen.port}`;
        reject(new PlatformError("denied", `remote port forwarding failed for listen ${where}`));
      };
      client.once("close", refused);
      const answered = (error: Error | null | undefined, port = 0): void => {
        client.off("close", refused);
        if (error) {
          refused();
          return;
        }
        this.#targets.set("path" in listen ? listen.path : formatHostPort({ host: listen.host, port }), to);
        if (!("path" in listen) && listen.port === 0) writeNote(io, `Allocated port ${port} for remote forward to ${textOf(to)}`);
        resolve();
      };
      if ("path" in listen) client.openssh_forwardInStreamLocal(listen.path, answered);
      else client.forwardIn(listen.host, listen.port, answered);
    });
  }

  async #serve(key: string, accept: AcceptConnection<Channel>, reject: RejectConnection): Promise<void> {
    const { client, gone } = this.#forwards;
    const to = this.#targets.get(key);
    if (to === undefined) return refuseChannel(client, reject, { reason: "administratively prohibited", text: "no such forward" });
    try {
      const socket = await connectHere(to, gone);
      await couple(accept(), socket, gone);
    } catch (thrown) {
      refuseChannel(client, reject, { reason: "connect failed", text: errorText(thrown) });
    }
  }
}

function textOf(endpoint: Endpoint): string {
  return "path" in endpoint ? endpoint.path : formatHostPort(endpoint);
}

function connectHere(to: Endpoint, gone: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...to, allowHalfOpen: true });
    const drop = (): void => void socket.destroy(new Error("Connection timed out"));
    const timer = setTimeout(drop, connectMs);
    gone.addEventListener("abort", drop, { once: true });
    socket.once("error", reject).once("connect", () => {
      clearTimeout(timer);
      gone.removeEventListener("abort", drop);
      resolve(socket.on("error", () => {}).pause());
    });
    socket.once("close", () => {
      clearTimeout(timer);
      reject(new Error("closed"));
    });
  });
}
