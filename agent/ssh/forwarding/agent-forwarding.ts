import type { Connection } from "ssh2";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { openAgentChannel } from "../../../core/ssh/ssh2/hooks.ts";
import { type Forwarding, handOver } from "./forwarding.ts";
import { listenInPrivate, removeAsUser, type UserListener } from "./user-sockets.ts";

/** The client's SSH agent on this host: one socket for all sessions of a connection, in a folder that only the user may enter. */
export class AgentForwarding {
  readonly #forwarding: Forwarding;
  #listener: Promise<UserListener> | undefined;

  constructor(forwarding: Forwarding) {
    this.#forwarding = forwarding;
  }

  get isAllowed(): boolean {
    return this.#forwarding.facts.grant.rules.forwardAgent;
  }

  /** The socket's path, for SSH_AUTH_SOCK. Throws PlatformError. */
  async path(): Promise<string> {
    if (!this.isAllowed) throw new PlatformError("denied", "a role forbids agent forwarding (forward_agent: false)");
    this.#listener ??= this.#listen();
    return (await this.#listener).path;
  }

  /** Removes socket and folder. */
  async close(): Promise<void> {
    const { user, deps } = this.#forwarding.facts;
    try {
      const listener = await this.#listener;
      if (listener === undefined) return;
      listener.server.close();
      await removeAsUser({ user, launch: deps.launch }, { path: listener.path, folder: true });
    } catch (thrown) {
      deps.log.info("could not remove an agent socket", { error: errorText(thrown) });
    }
  }

  async #listen(): Promise<UserListener> {
    const { user, deps } = this.#forwarding.facts;
    const connection: Connection = this.#forwarding.connection;
    const listener = await listenInPrivate({ user, launch: deps.launch });
    listener.server.on("error", () => {});
    listener.server.on("connection", (socket) => {
      socket.allowHalfOpen = true;
      void handOver(this.#forwarding, socket, (done) => openAgentChannel(connection, done));
    });
    return listener;
  }
}
