import type { Duplex } from "node:stream";
import { Reader } from "../bytes/fields.ts";
import { PlatformError, toPlatformError } from "../errors/platform-error.ts";
import { extensionNames, sftpVersion } from "../sftp/numbers.ts";
import { PacketBuffer } from "../sftp/packet-buffer.ts";
import { encodeInit, encodeRequest, type Request } from "../sftp/request.ts";
import { decodeResponse, decodeVersion, type Response } from "../sftp/response.ts";

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
export type Ask = WithoutId<Exclude<Request, { type: "unknown" }>>;
/** A response, or the reason why none will come. Buffers of `data` are valid during the call only. */
export type Answered = (response: Response | PlatformError) => void;

/** Packet size that every server accepts (draft, section 3). */
const leastTransfer = 32_768;
const versionMs = 20_000;

/** The client's side of one SFTP channel: with many requests in flight. */
export class SftpClient {
  readonly #channel: Duplex;
  readonly #packets = new PacketBuffer();
  readonly #waiting = new Map<number, Answered>();
  readonly #host: string;
  #greeted: PromiseWithResolvers<Map<string, string>> | undefined = Promise.withResolvers();
  #next = 0;
  #broken: PlatformError | undefined;
  /** The server's extensions beyond version 3. */
  extensions: ReadonlyMap<string, string> = new Map();
  /** Maximum bytes of one read and of one write. */
  limits = { read: leastTransfer, write: leastTransfer };

  private constructor(channel: Duplex, host: string) {
    this.#channel = channel;
    this.#host = host;
    channel.on("data", (chunk: Buffer) => this.#take(chunk));
    const lost = (): void => this.#fail(new PlatformError("unavailable", `the connection to ${host} was lost`));
    channel.on("end", lost).on("close", lost).on("error", lost);
  }

  /** `host` is for messages. Throws `unavailable`, `timeout`, or `unsupported` for a server of another version. */
  static async open(channel: Duplex, host: string): Promise<SftpClient> {
    const client = new SftpClient(channel, host);
    const greeted = client.#greeted?.promise;
    const timer = setTimeout(() => client.#fail(new PlatformError("timeout", `${host} did not start SFTP within ${versionMs / 1000} s`)), versionMs);
    channel.write(encodeInit(sftpVersion));
    try {
      client.extensions = (await greeted) ?? new Map();
    } finally {
      clearTimeout(timer);
    }
    await client.#askLimits();
    return client;
  }

  /** Handled in the same turn in which the response arrives. */
  send(request: Ask, answered: Answered): void {
    if (this.#broken !== undefined) {
      answered(this.#broken);
      return;
    }
    const id = this.#next;
    this.#next = (id + 1) % 0x1_0000_0000;
    this.#waiting.set(id, answered);
    this.#channel.write(encodeRequest({ ...request, id }));
  }

  /** Throws only when there is no response. */
  async ask(request: Ask): Promise<Response> {
    return await new Promise((resolve, reject) => {
      this.send(request, (response) => {
        if (response instanceof PlatformError) reject(response);
        else resolve(response.type === "data" ? { ...response, data: Buffer.from(response.data) } : response);
      });
    });
  }

  /** Waits while sent data is still buffered. */
  async ready(): Promise<void> {
    if (!this.#channel.writableNeedDrain || this.#broken !== undefined) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#channel.off("drain", done).off("close", done);
        resolve();
      };
      this.#channel.on("drain", done).on("close", done);
    });
  }

  /** Sends no more requests: the server ends. */
  end(): void {
    this.#channel.end();
  }

  #take(chunk: Buffer): void {
    try {
      for (let at = 0; at < chunk.length && this.#broken === undefined; ) {
        const room = this.#packets.room();
        const count = chunk.copy(room, 0, at);
        this.#packets.filled(count);
        at += count;
        for (let packet = this.#packets.next(); packet !== undefined; packet = this.#packets.next()) this.#dispatch(packet);
      }
    } catch (thrown) {
      const { message } = toPlatformError(thrown);
      this.#fail(new PlatformError("unavailable", `${this.#host} does not speak SFTP: ${message}`, { cause: thrown }));
      this.#channel.destroy();
    }
  }

  #dispatch(packet: Buffer): void {
    if (this.#greeted !== undefined) {
      this.#greeted.resolve(decodeVersion(packet));
      this.#greeted = undefined;
      return;
    }
    const view = decodeResponse(packet);
    const answered = this.#waiting.get(view.id);
    if (answered === undefined) throw new PlatformError("invalid", `an answer to request ${view.id}, which was never sent`);
    this.#waiting.delete(view.id);
    // Data kept beyond this turn must not change with the next packet.
    answered(view.type === "data" || view.type === "status" ? view : decodeResponse(Buffer.from(packet)));
  }

  #fail(error: PlatformError): void {
    if (this.#broken !== undefined) return;
    this.#broken = error;
    this.#greeted?.reject(error);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const answered of waiting) answered(error);
  }

  async #askLimits(): Promise<void> {
    if (!this.extensions.has(extensionNames.limits)) return;
    const response = await this.ask({ type: "extended", name: extensionNames.limits, data: Buffer.alloc(0) });
    if (response.type !== "extended_reply") return;
    const reader = new Reader(response.data);
    reader.u64();
    this.limits = { read: within(reader.u64()), write: within(reader.u64()) };
  }
}

/** Maximum and minimum bytes of a transfer, whatever a server states: in far smaller ones, all that is on its way would be requests. */
const [mostTransfer, smallestTransfer] = [255 * 1024, 1_024] as const;

/** A server may announce 0 for "no limit of its own". */
function within(limit: bigint): number {
  return limit === 0n || limit > mostTransfer ? mostTransfer : Math.max(Number(limit), smallestTransfer);
}
