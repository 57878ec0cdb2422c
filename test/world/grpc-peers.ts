import { once } from "node:events";
import { promisify } from "node:util";
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceError,
  type StatusObject,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import type { Visitor } from "./app-client.ts";

/* A gRPC service and its client, both of `@grpc/grpc-js`: messages are bytes. */

type Bytes = MethodDefinition<Buffer, Buffer>;

const same = (bytes: Buffer): Buffer => bytes;

function method(name: string, streams: { readonly asks?: boolean; readonly answers?: boolean } = {}): Bytes {
  return {
    path: `/pkg.Service/${name}`,
    requestStream: streams.asks === true,
    responseStream: streams.answers === true,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

const service = {
  /** Answers what it is sent; the trailers say whether the call names its user. */
  say: method("Say"),
  /** Answers each word of what it is sent. */
  words: method("Words", { answers: true }),
  /** Answers each message as it comes. */
  echo: method("Echo", { asks: true, answers: true }),
  /** Fails. */
  refuse: method("Refuse"),
};

function trailersOf(call: { readonly metadata: Metadata }): Metadata {
  const trailers = new Metadata();
  trailers.set("x-user", call.metadata.get("platform-jwt-assertion").length === 1 ? "named" : "none");
  return trailers;
}

/** Starts the service on a port of 127.0.0.1, without TLS. */
export async function startGrpcServer(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = new Server();
  server.addService(service, {
    say: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => answer(null, call.request, trailersOf(call)),
    words: (call: ServerWritableStream<Buffer, Buffer>) => {
      for (const word of call.request.toString().split(" ")) call.write(Buffer.from(word));
      call.end(trailersOf(call));
    },
    echo: (call: ServerDuplexStream<Buffer, Buffer>) => {
      call.on("data", (bytes: Buffer) => call.write(bytes)).on("end", () => call.end(trailersOf(call)));
    },
    refuse: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
      const metadata = trailersOf(call);
      metadata.set("reason-bin", Buffer.from([0, 255]));
      answer({ code: status.FAILED_PRECONDITION, details: "not now: 100 % full", metadata });
    },
  });
  const bind = promisify((address: string, done: (error: Error | null, port: number) => void) =>
    server.bindAsync(address, ServerCredentials.createInsecure(), done),
  );
  const port = await bind("127.0.0.1:0");
  return { port, [Symbol.asyncDispose]: async () => await Promise.resolve(server.forceShutdown()) };
}

/** What ended a call. */
export interface GrpcEnd {
  readonly code: number;
  readonly details: string;
  readonly user: string;
}

export interface GrpcClient extends Disposable {
  say(bytes: Buffer): Promise<GrpcEnd & { readonly answer: Buffer | undefined }>;
  words(text: string): Promise<GrpcEnd & { readonly words: readonly string[] }>;
  /** Sends each word once the one before has come back. */
  echo(words: readonly string[]): Promise<GrpcEnd & { readonly words: readonly string[] }>;
  refuse(): Promise<GrpcEnd & { readonly reason: readonly number[] }>;
}

/** A client of the service at a local port without TLS. */
export function grpcAtPort(port: number): GrpcClient {
  return client(`127.0.0.1:${port}`, credentials.createInsecure());
}

/** A client with a user's certificate, at the application's host name. */
export function grpcAs({ address, port, host, ca, certificate }: Visitor): GrpcClient {
  if (certificate === undefined) throw new Error("a gRPC client needs the user's certificate");
  const own = credentials.createSsl(Buffer.from(ca), Buffer.from(certificate.key), Buffer.from(certificate.cert));
  return client(`${address}:${port}`, own, { "grpc.ssl_target_name_override": host, "grpc.default_authority": host });
}

function client(address: string, own: ChannelCredentials, options: Readonly<Record<string, string>> = {}): GrpcClient {
  const dialled = new Client(address, own, options);
  const unary = async (path: string, bytes: Buffer): Promise<{ readonly end: StatusObject; readonly answer: Buffer | undefined }> => {
    const { promise: answered, resolve } = Promise.withResolvers<Buffer | undefined>();
    const call = dialled.makeUnaryRequest(path, same, same, bytes, (_error: ServiceError | null, answer?: Buffer) => resolve(answer));
    const [end] = (await once(call, "status")) as [StatusObject];
    return { end, answer: await answered };
  };
  const echo = async (call: ClientDuplexStream<Buffer, Buffer>, words: readonly string[]): Promise<readonly string[]> => {
    const found: string[] = [];
    for (const word of words) {
      call.write(Buffer.from(word));
      found.push(String((await once(call, "data"))[0]));
    }
    return found;
  };
  return {
    say: async (bytes) => {
      const { end, answer } = await unary(service.say.path, bytes);
      return { ...endOf(end), answer };
    },
    words: async (text) => {
      const call = dialled.makeServerStreamRequest(service.words.path, same, same, Buffer.from(text));
      const ended = once(call, "status") as Promise<[StatusObject]>;
      const words = ((await call.toArray()) as Buffer[]).map(String);
      return { ...endOf((await ended)[0]), words };
    },
    echo: async (all) => {
      const call = dialled.makeBidiStreamRequest(service.echo.path, same, same);
      const ended = once(call, "status") as Promise<[StatusObject]>;
      const words = await echo(call, all);
      call.end();
      call.resume();
      return { ...endOf((await ended)[0]), words };
    },
    refuse: async () => {
      const { end } = await unary(service.refuse.path, Buffer.alloc(0));
      return { ...endOf(end), reason: end.metadata.get("reason-bin").flatMap((one) => [...Buffer.from(one)]) };
    },
    [Symbol.dispose]: () => dialled.close(),
  };
}

function endOf({ code, details, metadata }: StatusObject): GrpcEnd {
  return { code, details, user: metadata.get("x-user").join() };
}
