import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, type Server, request as send } from "node:https";
import type { AddressInfo } from "node:net";
import { createTestAuthority, type TestCertificate } from "../../../core/transport/dial/testing/test-certificate.ts";
import type { KubeWorld } from "./kube-world.ts";

/** A request on its way to the API server. */
export interface RelayedRequest {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly body: string;
}

/** What becomes of a request: `forward` asks the API server, which has carried it out when it answers; without an answer the connection is cut. */
type Passage = (request: RelayedRequest, forward: () => Promise<IncomingMessage>) => Promise<IncomingMessage | undefined>;

/** Stands between a controller and the API server, so that a test decides where the two lose each other. */
export class ApiRelay implements AsyncDisposable {
  /** Undefined: everything passes. */
  passage: Passage | undefined;
  /** Requests that the API server was asked. */
  readonly passed: RelayedRequest[] = [];
  /** Authorities of its certificate and of the API server's, PEM. */
  readonly ca: string;
  readonly #world: Pick<KubeWorld, "apiServerUrl" | "ca">;
  readonly #agent: Agent;
  readonly #server: Server;

  private constructor(world: Pick<KubeWorld, "apiServerUrl" | "ca">, { ca, certificate }: { ca: string; certificate: TestCertificate }) {
    this.#world = world;
    this.ca = `${ca.trim()}\n${world.ca}`;
    this.#agent = new Agent({ keepAlive: true, ca: world.ca });
    this.#server = createServer(certificate, (request, response) => {
      this.#relay(request, response).catch(() => request.socket.destroy());
    });
  }

  static async open(world: Pick<KubeWorld, "apiServerUrl" | "ca">): Promise<ApiRelay> {
    const authority = await createTestAuthority();
    const relay = new ApiRelay(world, { ca: authority.cert, certificate: await authority.issue({ type: "ip", value: "127.0.0.1" }) });
    relay.#server.listen(0, "127.0.0.1");
    await once(relay.#server, "listening");
    return relay;
  }

  /** Where a pod finds it. */
  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends all connections, also those of watches. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.cut();
    this.#agent.destroy();
  }

  async #relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat((await request.toArray()) as Buffer[]);
    const { method = "", url = "" } = request;
    const relayed = { method, path: url.split("?", 1)[0] ?? "", body: body.toString() };
    const forward = async (): Promise<IncomingMessage> => {
      this.passed.push(relayed);
      return await this.#forward(request, body);
    };
    const answer = await (this.passage?.(relayed, forward) ?? forward());
    if (answer === undefined) return void request.socket.destroy();
    answer.on("error", () => response.destroy());
    response.on("close", () => answer.destroy());
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  }

  async #forward({ method, url = "", headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const sent = send(new URL(url, this.#world.apiServerUrl), { method, headers, agent: this.#agent });
    sent.end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    return answer;
  }
}
