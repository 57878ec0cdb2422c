import { readSync, writeSync } from "node:fs";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { maxPacket, messageNumbers } from "../../../core/sftp/numbers.ts";
import { PacketBuffer } from "../../../core/sftp/packet-buffer.ts";
import { decodeInit, decodeRequest, type Request } from "../../../core/sftp/request.ts";
import { encodeResponse, encodeVersion, type Response } from "../../../core/sftp/response.ts";
import { announced, extended } from "./extended-requests.ts";
import * as file from "./file-requests.ts";
import * as folder from "./folder-requests.ts";
import * as path from "./path-requests.ts";
import { type Reply, replyStatus, statusOf } from "./reply.ts";
import type { SftpContext } from "./sftp-context.ts";

/**
 * Serves SFTP on two blocking descriptors until the input ends. One request after the other, each by a system call that
 * blocks, as OpenSSH's sftp-server does it: a client's requests take effect in their order, and this process has
 * nothing else to do. Answers leave together when no whole request is left. Throws PlatformError `invalid` for a stream that is not SFTP.
 */
export function serveFiles(context: SftpContext, input: number, output: number): void {
  const packets = new PacketBuffer();
  const answers = new Answers(output);
  let isGreeted = false;
  for (;;) {
    const room = packets.room();
    const count = readSync(input, room);
    if (count === 0) break;
    packets.filled(count);
    for (let packet = packets.next(); packet !== undefined; packet = packets.next()) {
      if (decodeInit(packet) !== undefined) answers.add(encodeVersion(announced));
      else if (isGreeted) answers.respond(answer(context, decodeRequest(packet)));
      else throw new PlatformError("invalid", "an SFTP request came before the version");
      isGreeted = true;
    }
    answers.flush();
  }
  if (packets.isWithinPacket) throw new PlatformError("invalid", "the SFTP stream ended within a packet");
}

/** Performs a request with the rights of this process, and answers it. `data` is valid until the next call. */
export function answer(context: SftpContext, request: Request): Response {
  try {
    return { ...perform(context, request), id: request.id };
  } catch (thrown) {
    return { type: "status", id: request.id, ...statusOf(thrown) };
  }
}

function perform(context: SftpContext, request: Request): Reply {
  switch (request.type) {
    case "read":
      return file.read(context, request);
    case "write":
      return file.write(context, request);
    case "open":
      return file.open(context, request);
    case "close":
      return file.close(context, request);
    case "fstat":
      return file.fstat(context, request);
    case "fsetstat":
      return file.fsetstat(context, request);
    case "opendir":
      return folder.opendir(context, request);
    case "readdir":
      return folder.readdir(context, request);
    case "extended":
      return extended(context, request);
    case "unknown":
      return replyStatus("unsupported", "Operation unsupported");
    case "lstat":
      return path.lstat(context, request);
    case "stat":
      return path.stat(context, request);
    case "setstat":
      return path.setstat(context, request);
    case "remove":
      return path.remove(context, request);
    case "mkdir":
      return path.mkdir(context, request);
    case "rmdir":
      return path.rmdir(context, request);
    case "realpath":
      return path.realpath(context, request);
    case "readlink":
      return path.readlink(context, request);
    case "rename":
      return path.rename(context, request);
    case "symlink":
      return path.symlink(context, request);
  }
}

/** Collects answers in one buffer and writes it when it is full or no request is left. */
class Answers {
  readonly #output: number;
  readonly #bytes = Buffer.allocUnsafe(2 * maxPacket);
  #used = 0;

  constructor(output: number) {
    this.#output = output;
  }

  respond(response: Response): void {
    if (response.type !== "data") {
      this.add(encodeResponse(response));
      return;
    }
    // The bytes read are copied once: u32 length, u8 type, u32 id, u32 count, data.
    const { data, id } = response;
    this.#reserve(13 + data.length);
    const at = this.#used;
    this.#bytes.writeUInt32BE(9 + data.length, at);
    this.#bytes.writeUInt8(messageNumbers.data, at + 4);
    this.#bytes.writeUInt32BE(id, at + 5);
    this.#bytes.writeUInt32BE(data.length, at + 9);
    data.copy(this.#bytes, at + 13);
    this.#used += 13 + data.length;
  }

  add(packet: Buffer): void {
    this.#reserve(packet.length);
    packet.copy(this.#bytes, this.#used);
    this.#used += packet.length;
  }

  flush(): void {
    for (let written = 0; written < this.#used; ) written += writeSync(this.#output, this.#bytes, written, this.#used - written);
    this.#used = 0;
  }

  #reserve(length: number): void {
    if (this.#used + length > this.#bytes.length) this.flush();
  }
}
