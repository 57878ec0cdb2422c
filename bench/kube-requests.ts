import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect } from "node:tls";
import type { Entrance } from "../test/world/kubernetes/kube-platform.ts";

/** As Go's client has them: bytes that a stream, and that a connection, may send before they are read. */
const windows = { stream: 4 << 20, connection: 1 << 30 } as const;

/** A connection of HTTP/2, as kubectl has. */
export interface KubeRequests extends Disposable {
  /** The response, once its head is there. Throws for one that is not 200. */
  get(path: string, headers: Readonly<Record<string, string>>): Promise<ClientHttp2Stream>;
}

export async function openKubeRequests({ host, port, prefix, servername, ca, cert, key }: Entrance): Promise<KubeRequests> {
  const socket = connect({ host, port, servername, ca, cert, key, ALPNProtocols: ["h2"] });
  await once(socket, "secureConnect");
  const session: ClientHttp2Session = connectHttp2(`https://${host}:${port}`, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: windows.stream },
  });
  session.on("error", () => {});
  await once(session, "remoteSettings");
  session.setLocalWindowSize(windows.connection);
  return {
    get: async (path, headers) => {
      const stream = session.request({ ":path": `${prefix}${path}`, ...headers });
      const [head] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status"?: number }];
      if (head[":status"] !== 200) throw new Error(`${path}: ${head[":status"]}`);
      return stream;
    },
    [Symbol.dispose]: () => session.destroy(),
  };
}
