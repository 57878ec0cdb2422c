import { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { peerCertificate } from "../../../core/identity/x509-identity.ts";
import { refuseKubeClient } from "../../../core/kubernetes/refuse-kube-client.ts";
import { databaseContext, terminateTls } from "../../../core/transport/arrivals/server-tls.ts";
import { relay } from "../../../core/transport/relay.ts";
import type { Call } from "../../command.ts";
import { writeError } from "../../output.ts";
import type { ProfileSource } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { confirmedSource, confirmFirst, openWithCode } from "../served/confirmed-source.ts";
import { type LocalPort, openLocalPort } from "../served/local-port.ts";
import { openServed } from "../served/open-served.ts";
import { type LocalCertificates, localCertificates } from "./local-certificates.ts";

export interface TunnelKube {
  readonly name: string;
  /** Ids of the hosts whose agents offer it. */
  readonly hosts: readonly string[];
  /** A connection to it needs a one-time code. */
  readonly needsCode?: boolean;
}

export interface KubeTunnelAsk {
  readonly kubes: readonly TunnelKube[];
  /** Read for each connection: a newer login counts. */
  readonly source: ProfileSource;
  /** 0: any free one. */
  readonly port: number;
}

export interface KubeTunnel extends LocalPort {
  readonly certificates: LocalCertificates;
}

const protocols = ["h2", "http/1.1"];
/** Agents that are tried for one connection. */
const maxTries = 3;

/**
 * A local port whose connections go to Kubernetes clusters, each to the one that its client certificate is for. Others of this machine do not get in. A
 * failure on the way is printed, and the client gets it as a Status. Throws `unavailable`.
 */
export async function openKubeTunnel(call: Call, ask: KubeTunnelAsk): Promise<KubeTunnel> {
  const names = ask.kubes.map(({ name }) => name);
  const sources = new Map(names.map((name) => [name, confirmedSource(call.io, ask.source, { kind: "kube", name })]));
  // What uses the port may read from the terminal. Of several clusters, each asks when it is used: a code is valid once.
  const [only, second] = ask.kubes;
  if (only !== undefined && second === undefined) await confirmFirst(sources.get(only.name) ?? ask.source, only.needsCode);
  const certificates = await localCertificates(names, new Date());
  const context = databaseContext({ tlsCertificate: certificates.server.certificate, tlsPrivateKey: certificates.server.privateKey });
  const byCertificate = new Map(
    [...certificates.clients].map(([name, { certificate }]) => [new X509Certificate(certificate).raw.toString("base64"), name]),
  );
  const serve = async (socket: Socket, signal: AbortSignal): Promise<void> => {
    const tls = await terminateTls(socket, { context, alpn: protocols, requestCertificate: true });
    tls.on("error", () => {});
    const name = byCertificate.get(peerCertificate(tls)?.toString("base64") ?? "");
    const kube = ask.kubes.find((one) => one.name === name);
    if (kube === undefined) return await refuseKubeClient(tls, stranger(), signal);
    let agent: TLSSocket;
    try {
      agent = await reach(call, kube, sources.get(kube.name) ?? ask.source);
    } catch (thrown) {
      const error = toPlatformError(thrown);
      writeError(call.io, error);
      return await refuseKubeClient(tls, error, signal);
    }
    await relay(tls, agent, { signal });
  };
  const local = await openLocalPort(call.io, ask.port, serve);
  return Object.assign(local, { certificates });
}

/** An agent of the cluster: the next one when one does not answer. */
async function reach(call: Call, { name, hosts }: TunnelKube, source: ProfileSource): Promise<TLSSocket> {
  const profile = await source.current();
  return await openWithCode(source, profile, async (login) => await reachOne(call, { name, hosts }, login));
}

async function reachOne(call: Call, { name, hosts }: TunnelKube, profile: Profile): Promise<TLSSocket> {
  let failure: unknown;
  for (const host of ["", ...hosts].slice(0, hosts.length > 1 ? maxTries : 1)) {
    try {
      return await withTrust(call, profile, (trusting) => openServed(call.io, trusting, { kind: "kube", name, parameters: { host } }));
    } catch (thrown) {
      failure ??= thrown;
      if (!(thrown instanceof PlatformError) || (thrown.code !== "unavailable" && thrown.code !== "timeout")) throw thrown;
    }
  }
  throw failure;
}

function stranger(): PlatformError {
  return new PlatformError("unauthenticated", "this port of tsh is for the kubeconfig that it has written", { hint: "export KUBECONFIG as it says" });
}
