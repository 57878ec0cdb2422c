import { type TerminalNotice, terminalAskSchema } from "../../../../core/api/web/terminal.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { ipOf } from "../../../../core/transport/host-port.ts";
import type { ListRoom } from "../../../limits/list-room.ts";
import type { ReachServices } from "../../routing/reach-served.ts";
import type { RelayedStreams } from "../../routing/running-streams.ts";
import type { Api } from "../api/api.ts";
import type { SocketCall, SocketServices } from "../api/socket-route.ts";
import { socketRoute } from "../api/socket-route.ts";
import { openPodShell } from "../kube/open-pod-shell.ts";
import { openShell } from "./open-shell.ts";
import { readText } from "./read-text.ts";
import { relayTerminal } from "./relay-terminal.ts";

export interface TerminalServices extends ReachServices {
  readonly relaying: RelayedStreams;
  /** What files on their way hold in this proxy. */
  readonly transfers: Pick<ListRoom, "open">;
}

const terminalPath = "/webapi/v1/terminal";
/** Time limit of the message that says which terminal, ms. */
const askMs = 10_000;
/** Typing counts as use of the browser's session, this often, ms. */
const useMs = 60_000;

/** `/webapi/v1/terminal`: a terminal on a host, or in a pod, in the browser (core/api/web/terminal.ts has the messages). */
export function terminalRoute(api: Api, services: TerminalServices, sockets: SocketServices): void {
  const handler = async (call: SocketCall): Promise<void> => {
    const serving = serve(call, api, services);
    services.relaying.add(serving);
    await serving;
  };
  const summary = "A terminal on a host or in a container of a pod, or a seat in a session that runs: a WebSocket.";
  socketRoute(api, { path: terminalPath, summary, handler }, sockets);
}

async function serve({ socket, inbox, browser, auth, peer, signal }: SocketCall, { sessions }: Api, services: TerminalServices): Promise<void> {
  const { isBinary, data } = await inbox.next(askMs, { what: "wish for a terminal", signal });
  const asked = terminalAskSchema.safeParse(isBinary ? undefined : readText(data));
  if (!asked.success) {
    const field = asked.error.issues[0]?.path.join(".").slice(0, 64) ?? "";
    throw new PlatformError("invalid", `could not read which terminal to open${field === "" ? "" : `: ${field}`}`);
  }
  const ask = asked.data;
  const visit = { identity: browser.identity, auth, peer, signal };
  const shell = ask.type === "pod" ? await openPodShell({ ask, ...visit }, services) : await openShell({ ask, ...visit }, services);
  const send = (notice: TerminalNotice): void => socket.send(JSON.stringify(notice));
  const typed = everySoOften(services.now, () => {
    // The auth service keeps the time of the last use; a session that has ended is found elsewhere.
    sessions.find(browser.credential, ipOf(peer)).catch(() => {});
  });
  try {
    send({ type: "opened", host: shell.host, login: shell.login });
    send(await relayTerminal(shell, { socket, inbox, signal, typed }));
  } finally {
    shell.close();
  }
}

/** At most once in `useMs`. */
function everySoOften(now: () => Date, act: () => void): () => void {
  let last = now().getTime();
  return () => {
    const at = now().getTime();
    if (at - last < useMs) return;
    last = at;
    act();
  };
}
