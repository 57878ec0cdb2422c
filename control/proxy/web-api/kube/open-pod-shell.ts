import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket } from "ws";
import type { PodAsk } from "../../../../core/api/web/terminal.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { agentRequest, changedProtocol } from "../../app-front/agent-requests.ts";
import type { ReachServices } from "../../routing/reach-served.ts";
import type { Shell } from "../terminal/shell.ts";
import { isOfApiServer } from "./cluster-error.ts";
import { refusal } from "./get-json.ts";
import { overSpdy, overWebSocket, type ProgramConnection } from "./program-connection.ts";
import { ProgramStream } from "./program-stream.ts";
import { type ClusterVisit, reachCluster } from "./reach-cluster.ts";
import { shellEnd } from "./shell-end.ts";

export interface PodShellAsk extends Omit<ClusterVisit, "cluster" | "confirmation"> {
  readonly ask: PodAsk;
}

/** The newest first: all of them have the same channels (core/kubernetes/program-channels.ts). */
const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const agentName = "platform-web-ui";
/** Time limit of the API server's answer, ms, and longest message of a program, bytes. */
const [answerMs, maxMessage] = [30_000, 1_048_576] as const;

/** Starts a program with a terminal in a container for the user of a browser, as `kubectl exec -it` does. Throws PlatformError. */
export async function openPodShell({ ask, ...visit }: PodShellAsk, services: ReachServices): Promise<Shell> {
  const { cluster, confirmation, namespace, pod, command } = ask;
  const reach = async () => await reachCluster({ ...visit, cluster, confirmation }, services);
  const stream = new ProgramStream(await exec(reach, ask));
  const where = `${namespace}/${pod}`;
  stream.resize(ask);
  return {
    outputs: [stream],
    input: stream,
    resize: (size) => stream.resize(size),
    host: where,
    login: "",
    ended: () => shellEnd(stream.exit, { where, hasCommand: command.length > 0 }),
    closed: new Promise((resolve) => stream.once("close", resolve)),
    close: () => void stream.destroy(),
  };
}

/**
 * Over a WebSocket, or where the API server refuses that over SPDY, as kubectl does: for a WebSocket, a GET, API servers before 1.35 ask for the verb `get` of `pods/exec`, and
 * for SPDY, a POST, for `create`. Throws what the agent or the API server refuses with.
 */
async function exec(reach: () => Promise<Duplex>, ask: PodAsk): Promise<ProgramConnection> {
  const over = await reach();
  try {
    return await execOverWebSocket(over, ask);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || !isOfApiServer(thrown)) throw thrown;
    return await execOverSpdy(await reach(), ask);
  }
}

async function execOverSpdy(over: Duplex, ask: PodAsk): Promise<ProgramConnection> {
  const { cluster } = ask;
  const upgrade = ["Connection", "Upgrade", "Upgrade", "SPDY/3.1", "X-Stream-Protocol-Version", "v4.channel.k8s.io"];
  const headers = ["Host", "kubernetes", "User-Agent", agentName, "Content-Length", "0", ...upgrade];
  const request = agentRequest({ method: "POST", path: execPath(ask), headers, over });
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly socket: Duplex } | { readonly refused: IncomingMessage }>();
  const timer = setTimeout(() => request.destroy(new Error("no answer in time")), answerMs);
  request.once("upgrade", (_response, socket: Duplex, head: Buffer) => {
    if (head.length > 0) socket.unshift(head);
    resolve({ socket });
  });
  request.once("response", (refused) => resolve({ refused }));
  request.on("error", (cause) => reject(lost(cluster, cause)));
  request.once("close", () => reject(lost(cluster))).end();
  try {
    const answer = await promise;
    if ("socket" in answer) return await overSpdy(answer.socket);
    // Without the fields of an upgrade, a 101 is a response for Node.
    throw answer.refused.statusCode === 101 ? lost(cluster, changedProtocol()) : await refusalInTime(answer.refused, cluster);
  } catch (thrown) {
    over.destroy();
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

function lost(cluster: string, cause?: unknown): PlatformError {
  return new PlatformError("unavailable", `the connection to Kubernetes cluster ${cluster} was lost`, { cause, hint: "try again" });
}

async function execOverWebSocket(over: Duplex, ask: PodAsk): Promise<ProgramConnection> {
  const { cluster } = ask;
  const socket = new WebSocket(`ws://kubernetes${execPath(ask)}`, protocols, {
    createConnection: () => over,
    followRedirects: false,
    perMessageDeflate: false,
    maxPayload: maxMessage,
    handshakeTimeout: answerMs,
    headers: { "User-Agent": agentName },
  });
  const { promise, resolve, reject } = Promise.withResolvers<ProgramConnection>();
  // At once: bytes may have come with the answer.
  socket.once("open", () => resolve(overWebSocket(socket)));
  socket.once("unexpected-response", (_request, response: IncomingMessage) => void refusalInTime(response, cluster).then(reject));
  socket.once("error", (cause) => reject(lost(cluster, cause)));
  try {
    return await promise;
  } catch (thrown) {
    socket.on("error", () => {}).terminate();
    over.destroy();
    throw thrown;
  }
}

/** Never rejects. */
async function refusalInTime(response: IncomingMessage, cluster: string): Promise<PlatformError> {
  const timer = setTimeout(() => response.destroy(), answerMs);
  const error = await refusal(response, cluster);
  clearTimeout(timer);
  return error;
}

/** A shell in one go: bash where there is one. The browser's terminal knows its colours. */
const shell = ["sh", "-c", "TERM=xterm-256color; export TERM; command -v bash >/dev/null 2>&1 && exec bash; exec sh"];

/** Path and query of a request that runs a program with a terminal in a container. Pure. */
function execPath({ namespace, pod, container, command }: Pick<PodAsk, "namespace" | "pod" | "container" | "command">): string {
  const query = new URLSearchParams({ stdin: "true", stdout: "true", tty: "true", ...(container !== "" && { container }) });
  for (const argument of command.length === 0 ? shell : command) query.append("command", argument);
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/exec?${query.toString()}`;
}
