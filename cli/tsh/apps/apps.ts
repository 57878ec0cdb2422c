import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { alpn, roleServerName } from "../../../core/transport/alpn.ts";
import { Attempt } from "../../../core/transport/dial/attempt.ts";
import { startTls } from "../../../core/transport/dial/start-tls.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { relay } from "../../../core/transport/relay.ts";
import { decodeStreamReply, encodeStreamRequest, maxStreamMessage } from "../../../core/transport/stream-request.ts";
import type { Call } from "../../command.ts";
import type { CliIo } from "../../io.ts";
import { type Result, textResult } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withAuth, withTrust } from "../../profile/reach-cluster.ts";
import { credentialsFor } from "../../profile/resource-certificates.ts";
import { renderLabels, renderTable } from "../../table.ts";
import { openStream } from "../open-stream.ts";

interface ListedApp {
  readonly name: string;
  readonly labels: Labels;
  /** Connected hosts whose agents offer the application. */
  readonly hosts: readonly string[];
}

/** `tsh apps ls`. */
export async function listApps(call: Call): Promise<Result> {
  const apps = await usableApps(call.io, await chosenProfile(call));
  const rows = apps.map(({ name, labels, hosts }) => [name, String(hosts.length), renderLabels(labels)]);
  return { data: apps, text: renderTable(["Application", "Agents", "Labels"], rows), names: [...new Set(apps.map(({ name }) => name))] };
}

/** Applications that connected agents offer and that the user may reach, by name. Throws the auth service's refusal. */
async function usableApps(io: CliIo, profile: Profile): Promise<readonly ListedApp[]> {
  return await withAuth(io, profile, async (client) => {
    const { resources } = await client.listOffered({ kind: "app" });
    return resources.map(({ name, labels, hostIds }) => ({ name, labels, hosts: hostIds }));
  });
}

/** Maximum number of simultaneous connections. */
const maxConnections = 1000;
const loopback = "127.0.0.1";

/** `tsh proxy app NAME --port`: each connection to a local port goes to the application, until it is interrupted. */
export async function proxyApp(call: Call): Promise<Result> {
  const { io, options } = call;
  const [name = ""] = call.args;
  const profile = await chosenProfile(call);
  await withTrust(call, profile, (trusting) => requireUsable(call, trusting, name));
  const stop = new AbortController();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    void serve(call, { profile, name, socket, signal: stop.signal });
  });
  server.maxConnections = maxConnections;
  const port = portOption(options.text("port"));
  server.listen(port, loopback);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new PlatformError("unavailable", `could not listen on ${loopback}:${port}: ${errorText(cause)}`, {
      cause,
      hint: "choose another port with --port",
    });
  }
  const address = formatHostPort({ host: loopback, port: (server.address() as AddressInfo).port });
  io.stdout.write(`Application ${name} is on ${address} until this command ends (Ctrl-C).\n`);
  await once(server, "close").finally(() => stop.abort());
  return textResult("");
}

async function requireUsable({ io }: Call, profile: Profile, name: string): Promise<void> {
  const { route } = profile.facts;
  // The auth service answers no question to a certificate for one resource; the proxy and the agent decide.
  if (route !== undefined) return;
  const apps = await usableApps(io, profile);
  if (apps.some((app) => app.name === name)) return;
  throw new PlatformError("not_found", `there is no application ${JSON.stringify(name)} that you may use`, {
    hint: "`tsh apps ls` lists those that you may use",
  });
}

interface LocalConnection {
  readonly profile: Profile;
  readonly name: string;
  readonly socket: Socket;
  readonly signal: AbortSignal;
}

/** Never throws: a failure is printed, and the connection ends. */
async function serve(call: Call, { profile, name, socket, signal }: LocalConnection): Promise<void> {
  socket.on("error", () => {});
  try {
    const stream = await withTrust(call, profile, (trusting) => openAppStream(call.io, trusting, name));
    await relay(socket, stream, { signal });
  } catch (thrown) {
    const { message, hint } = toPlatformError(thrown);
    call.io.stderr.write(`ERROR: ${message}${hint === undefined ? "" : `\n${hint}`}\n`);
    socket.destroy();
  }
}

/** 0: any free port. Throws `invalid`. */
function portOption(text: string | undefined): number {
  if (text === undefined) return 0;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 0 && port <= 65_535) return port;
  throw new PlatformError("invalid", `--port ${JSON.stringify(text)} is not a port`, {
    hint: "give a number from 0 to 65535; 0 takes any free port",
  });
}

/** Time limit of the agent's TLS, and then of its answer, which waits for the application, ms. */
const answerMs = 30_000;

/**
 * A connection to an application: TLS that ends at the agent, inside the stream through the proxy. The request is repeated in it, so
 * that the proxy cannot turn it into another. Throws the refusal of the proxy or the agent.
 */
async function openAppStream(io: CliIo, profile: Profile, app: string): Promise<TLSSocket> {
  const { hostCaPem: ca } = profile;
  const outer = await openStream(io, { profile, kind: "app", target: app, parameters: {} });
  using attempt = new Attempt({ timeoutMs: answerMs });
  const identity = credentialsFor(profile, { kind: "app", name: app }, new Date());
  const tls = { alpn: [alpn.service], servername: roleServerName("node"), ca, ...identity };
  const inner = await startTls(outer, tls, {
    attempt,
    peer: `the agent that offers ${app}`,
    hint: "check that no device intercepts TLS between the proxy and the agent",
  });
  try {
    inner.write(encodeStreamRequest({ kind: "app", target: app, parameters: {}, clientAddress: "", sessionId: "", accessRevision: "" }));
    const reply = decodeStreamReply(await readFrame(inner, { maxLength: maxStreamMessage, timeoutMs: answerMs, what: "answer of the agent" }));
    if (!reply.ok) throw reply.error;
    return inner;
  } catch (thrown) {
    inner.on("error", () => {}).destroy();
    throw thrown;
  }
}
