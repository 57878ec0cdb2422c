import type { ClientHttp2Stream } from "node:http2";
import { type Duplex, PassThrough } from "node:stream";
import { checkServerIdentity, connect as connectTls, type TLSSocket } from "node:tls";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { PlatformError } from "../errors/platform-error.ts";
import { alpn, authServerName, roleServerName } from "../transport/alpn.ts";
import { issuerOf, tlsError } from "../transport/dial/connection-error.ts";
import { overWebPort } from "../transport/upgrade/dial-web-port.ts";
import { fromConnectError, withOurErrors } from "./auth-call.ts";
import { caPin } from "./ca-pin.ts";
import { AuthService } from "./generated/platform/auth/v1/auth_pb.ts";

/** Calls throw PlatformError. */
export type AuthClient = Client<typeof AuthService>;

export interface AuthClientOptions {
  /** Opens a byte stream that ends at the auth service's TLS listener: a dialled socket, or a channel of a tunnel. */
  readonly open: () => Promise<Duplex>;
  /** PEM certificates of the host authority (see trust.ts for how to get them first). */
  readonly ca: readonly string[];
  /** PEM; omitted for an anonymous client. */
  readonly credentials?: { readonly certificate: string; readonly privateKey: string };
  /** Timeout of one call; default 15 s. */
  readonly timeoutMs?: number;
}

export interface AuthConnection extends Disposable {
  readonly client: AuthClient;
  close(): void;
}

/** Time for which an idle connection is kept, ms. */
const idleMs = 10_000;
/** Maximum answer, bytes. */
const maxMessage = 16 * 1024 * 1024;

/** A client that connects at its first call, drops an idle connection, and reconnects after a failure. */
export function openAuthClient(options: AuthClientOptions): AuthConnection {
  let session: { socket: TLSSocket; manager: Http2SessionManager; transport: Transport } | undefined;
  let opening: Promise<Transport> | undefined;
  const usable = (): Transport | undefined => {
    const state = session?.manager.state();
    return state === "open" || state === "idle" || state === "verifying" ? session?.transport : undefined;
  };
  // The session alone would wait for its last write, on a connection whose other end may no longer read.
  const cut = (): void => {
    session?.manager.abort();
    session?.socket.destroy();
    session = undefined;
  };
  const connected = async (): Promise<Transport> => {
    cut();
    const socket = await connectAuthTls(options);
    const manager = new Http2SessionManager("https://auth", { idleConnectionTimeoutMs: idleMs }, { createConnection: () => socket });
    const transport = createGrpcTransport({
      baseUrl: "https://auth",
      sessionManager: {
        authority: manager.authority,
        request: async (...call) => {
          const stream = await manager.request(...call);
          outliveManager(stream.session);
          return readAhead(stream);
        },
        notifyResponseByteRead: (stream) => manager.notifyResponseByteRead(stream),
      },
      defaultTimeoutMs: options.timeoutMs ?? 15_000,
      acceptCompression: [],
      readMaxBytes: maxMessage,
    });
    if ((await manager.connect()) === "error") {
      socket.destroy();
      throw new PlatformError("unavailable", "the auth service closed the connection", { cause: manager.error() });
    }
    session = { socket, manager, transport };
    return transport;
  };
  const ready = (): Promise<Transport> => {
    const transport = usable();
    if (transport !== undefined) return Promise.resolve(transport);
    opening ??= connected().finally(() => {
      opening = undefined;
    });
    return opening;
  };
  const translated = async <T>(call: (transport: Transport) => Promise<T>): Promise<T> => {
    try {
      return await call(await ready());
    } catch (thrown) {
      throw fromConnectError(thrown);
    }
  };
  const client = createClient(AuthService, {
    unary: (...call) => translated((transport) => transport.unary(...call)),
    stream: async (...call) => withOurErrors(await translated((transport) => transport.stream(...call))),
  });
  return { client, close: cut, [Symbol.dispose]: cut };
}

/**
 * The manager takes its listener off when it is closed. A session that has just received GOAWAY fails after that, which
 * without a listener would end the process (connect-node 2, http2-session-manager.js, onGoaway).
 */
function outliveManager(session: ClientHttp2Stream["session"]): void {
  if (session !== undefined && !session.listeners("error").includes(ignore)) session.on("error", ignore);
}

function ignore(): void {}

const apiProtocols: readonly string[] = [alpn.auth, "h2"];

/** TLS to the auth service over an open stream. Throws `unavailable`, also when its certificate is not from this cluster. */
export async function connectAuthTls(options: AuthClientOptions, protocols = apiProtocols): Promise<TLSSocket> {
  return await overWebPort(options.open, (stream) => secureAuth(stream, options, protocols));
}

async function secureAuth(stream: Duplex, options: AuthClientOptions, protocols: readonly string[]): Promise<TLSSocket> {
  const [first] = options.ca;
  return await new Promise((resolve, reject) => {
    const socket = connectTls({
      socket: stream,
      ALPNProtocols: [...protocols],
      servername: first === undefined ? roleServerName("auth") : authServerName(caPin(first)),
      checkServerIdentity: (_sent, certificate) => checkServerIdentity(roleServerName("auth"), certificate),
      ca: [...options.ca],
      minVersion: "TLSv1.3",
      ...(options.credentials && { cert: options.credentials.certificate, key: options.credentials.privateKey }),
    });
    const settle = (): void => {
      clearTimeout(timer);
      socket.off("error", fail).off("close", closed);
    };
    // Before Node verifies the certificate: a refusal drops it.
    let issuer: string | undefined;
    socket.prependOnceListener("secure", () => {
      issuer = issuerOf(socket);
    });
    const fail = (cause: Error): void => {
      settle();
      socket.on("error", () => {}).destroy();
      reject(authTlsError(cause, issuer));
    };
    const closed = (): void => fail(new Error("the connection was closed"));
    const timer = setTimeout(() => fail(new PlatformError("timeout", "the auth service did not finish the TLS handshake in 10 s")), 10_000);
    socket.once("error", fail).once("close", closed);
    socket.once("secureConnect", () => {
      settle();
      resolve(socket);
    });
  });
}

/** Always `unavailable`: a machine in the middle may go away again. */
function authTlsError(cause: Error, issuer: string | undefined): PlatformError {
  const error = tlsError(cause, { peer: "the auth service", hint: "check the address and its port", issuer });
  if (error.code !== "unauthenticated" || error === cause) return error;
  return new PlatformError("unavailable", `no TLS connection to the auth service: ${error.message}`, { hint: error.hint, cause });
}

/**
 * Makes a call's answer outlive its HTTP/2 stream. An answer that arrives whole in one read closes the stream before the
 * gRPC library asks for its first byte, and its iterator then fails with "Premature close" (Node 24.21; seen over SSH
 * channels, where many packets arrive at once). Reading starts here at once; the size is bounded by back-pressure.
 */
function readAhead(stream: ClientHttp2Stream): ClientHttp2Stream {
  const answer = new PassThrough();
  answer.on("error", () => {});
  stream.once("error", (error: Error) => answer.destroy(error));
  stream.once("close", () => {
    if (!stream.readableEnded) answer.destroy();
  });
  stream.pipe(answer);
  return Object.defineProperty(stream, Symbol.asyncIterator, { value: () => answer[Symbol.asyncIterator]() });
}
