import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { type Document, deserialize, Long, type ObjectId, serialize } from "bson";
import type { MongoSet } from "./mongo-set.ts";
import { MongoFailure, type MongoStore } from "./mongo-store.ts";

/** A command as it arrived; `account` is the one that had logged in. */
export interface MongoCommand {
  readonly name: string;
  readonly database: string;
  readonly account: string | undefined;
  readonly document: Document;
  readonly opcode: number;
}

/** The server to which a connection belongs. */
export interface MongoMember {
  readonly commands: MongoCommand[];
  readonly store: MongoStore;
  readonly processId: ObjectId;
  readonly address: string;
  readonly accounts: readonly string[] | undefined;
  readonly set: MongoSet | undefined;
  readonly isPrimary: boolean;
  /** It takes commands and answers none. */
  readonly silent: boolean;
}

const [opReply, opQuery, opMsg] = [1, 2004, 2013];
const maxMessage = 48_000_000;
const writes = new Set(["insert", "update", "delete", "drop", "createUser"]);
const beforeLogin = new Set(["hello", "isMaster", "ismaster", "authenticate", "ping", "buildInfo", "saslStart", "endSessions"]);
let connections = 0;

/** One connection of a client to a member. */
export class MongoConnection {
  readonly #server: MongoMember;
  readonly #socket: Socket;
  readonly #id: number;
  #held: Buffer[] = [];
  #bytes = 0;
  #account: string | undefined;
  #unwatch: () => void = () => {};
  #reply = 0;

  constructor(server: MongoMember, socket: Socket) {
    this.#server = server;
    this.#socket = socket;
    connections += 1;
    this.#id = connections;
  }

  push(chunk: Buffer): void {
    this.#held.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= 16 && !this.#socket.destroyed) {
      const start = this.#held[0] ?? chunk;
      if (start.length < 16) this.#held = [Buffer.concat(this.#held)];
      const length = this.#held[0]?.readInt32LE(0) ?? 0;
      if (length < 26 || length > maxMessage) return void this.#socket.destroy();
      if (this.#bytes < length) return;
      const all = Buffer.concat(this.#held);
      this.#held = [all.subarray(length)];
      this.#bytes = all.length - length;
      try {
        this.#take(all.subarray(0, length));
      } catch (thrown) {
        // Malformed bytes end a connection, as they do at a mongod.
        this.#socket.destroy(thrown instanceof Error ? thrown : undefined);
      }
    }
  }

  close(): void {
    this.#unwatch();
  }

  #take(message: Buffer): void {
    const [requestId, opcode] = [message.readInt32LE(4), message.readInt32LE(12)];
    if (opcode !== opQuery && opcode !== opMsg) return void this.#socket.destroy();
    const flags = opcode === opMsg ? message.readUInt32LE(16) : 0;
    const document = opcode === opMsg ? readMsg(message) : readQuery(message);
    const name = Object.keys(document)[0] ?? "";
    const request = { requestId, opcode, flags, name, document };
    this.#server.commands.push({ name, database: String(document.$db ?? "admin"), account: this.#account, document, opcode });
    if (/^(hello|ismaster)$/i.test(name)) this.#hello(request);
    else {
      const answer = this.#answerOrError(name, document);
      if ((flags & 2) === 0 && !this.#server.silent) this.#send(request, answer);
    }
  }

  #answerOrError(name: string, document: Document): Document {
    try {
      return this.#answer(name, document);
    } catch (thrown) {
      if (!(thrown instanceof MongoFailure)) throw thrown;
      const { code, codeName, message: errmsg } = thrown;
      // Drivers repeat a write that has a number only if the server says so.
      const isRetryable = codeName === "NotWritablePrimary" && document.txnNumber !== undefined;
      return { ok: 0, errmsg, code, codeName, ...(isRetryable && { errorLabels: ["RetryableWriteError"] }) };
    }
  }

  #answer(name: string, document: Document): Document {
    const isLoggedIn = this.#server.accounts === undefined || this.#account !== undefined;
    if (!isLoggedIn && !beforeLogin.has(name)) throw new MongoFailure(13, "Unauthorized", `Command ${name} requires authentication`);
    switch (name) {
      case "ping":
      case "endSessions":
        return { ok: 1 };
      case "buildInfo":
        return { version: "7.0.0", versionArray: [7, 0, 0, 0], modules: [], ok: 1 };
      case "connectionStatus":
        return { authInfo: { authenticatedUsers: this.#account === undefined ? [] : [{ user: this.#account, db: "$external" }] }, ok: 1 };
      case "authenticate":
        return this.#authenticate(document);
      case "saslStart":
        throw new MongoFailure(18, "AuthenticationFailed", "Authentication failed.");
      default:
        if (writes.has(name) && !this.#server.isPrimary) throw new MongoFailure(10_107, "NotWritablePrimary", "not primary");
        return this.#server.store.run(name, String(document.$db), document);
    }
  }

  /** By the certificate of the connection; a server that asks for no login believes the client. */
  #authenticate({ user }: Document): Document {
    const { accounts } = this.#server;
    const isCertified = this.#socket instanceof TLSSocket && this.#socket.authorized;
    const account = isCertified ? `CN=${String(this.#socket.getPeerCertificate().subject.CN)}` : undefined;
    const isKnown = account !== undefined && (user === undefined || user === account) && accounts?.includes(account) !== false;
    if (accounts !== undefined && !isKnown) throw new MongoFailure(18, "AuthenticationFailed", "Authentication failed.");
    this.#account = account ?? String(user ?? "");
    return { dbname: "$external", user: this.#account, ok: 1 };
  }

  /** Answers at once, or when something has changed if the client knows the present state; and again without a request if it allows that. */
  #hello(request: Received): void {
    const { topologyVersion, maxAwaitTimeMS } = request.document;
    if (maxAwaitTimeMS === undefined) this.#send(request, this.#helloAnswer(request.document));
    else this.#awaitedHello(request, { responseTo: request.requestId, known: Number(topologyVersion?.counter) });
  }

  #awaitedHello(request: Received, { responseTo, known }: { readonly responseTo: number; readonly known: number }): void {
    const isStreamed = (request.flags & (1 << 16)) !== 0;
    const answer = (): void => {
      this.#unwatch();
      const now = this.#changes;
      const id = this.#send(request, this.#helloAnswer(request.document), { responseTo, flags: isStreamed ? 2 : 0 });
      if (isStreamed) this.#awaitedHello(request, { responseTo: id, known: now });
    };
    const timer = setTimeout(answer, known === this.#changes ? Number(request.document.maxAwaitTimeMS) : 0);
    const unwatch = this.#server.set?.watch(answer);
    this.#unwatch = () => {
      clearTimeout(timer);
      unwatch?.();
    };
  }

  get #changes(): number {
    return this.#server.set?.changes ?? 0;
  }

  #helloAnswer(asked: Document): Document {
    const { set, address, isPrimary, processId } = this.#server;
    const writable = Object.keys(asked)[0] === "hello" ? { isWritablePrimary: isPrimary } : { ismaster: isPrimary };
    const member = set !== undefined && {
      setName: set.name,
      setVersion: 1,
      secondary: !isPrimary,
      ...(isPrimary && { electionId: set.electionId }),
      hosts: set.members,
      me: address,
      ...(set.primary !== undefined && { primary: set.primary }),
    };
    return {
      helloOk: true,
      ...writable,
      topologyVersion: { processId, counter: Long.fromNumber(this.#changes) },
      ...member,
      maxBsonObjectSize: 16_777_216,
      maxMessageSizeBytes: maxMessage,
      maxWriteBatchSize: 100_000,
      localTime: new Date(),
      logicalSessionTimeoutMinutes: 30,
      connectionId: this.#id,
      minWireVersion: 0,
      maxWireVersion: 21,
      readOnly: false,
      ...(Array.isArray(asked.compression) && { compression: asked.compression }),
      ok: 1,
    };
  }

  /** The id of the answer. */
  #send(request: Received, document: Document, { responseTo = request.requestId, flags = 0 } = {}): number {
    const bytes = serialize(document);
    const isMsg = request.opcode === opMsg;
    const head = Buffer.alloc(isMsg ? 21 : 36);
    this.#reply += 1;
    for (const [index, value] of [head.length + bytes.length, this.#reply, responseTo, isMsg ? opMsg : opReply].entries())
      head.writeInt32LE(value, index * 4);
    head.writeUInt32LE(isMsg ? flags : 8, 16);
    if (!isMsg) head.writeInt32LE(1, 32);
    if (!this.#socket.destroyed) this.#socket.write(Buffer.concat([head, bytes]));
    return this.#reply;
  }
}

interface Received {
  readonly requestId: number;
  readonly opcode: number;
  readonly flags: number;
  readonly name: string;
  readonly document: Document;
}

function readQuery(message: Buffer): Document {
  return deserialize(message.subarray(message.indexOf(0, 20) + 9));
}

/** The command with its sequences as arrays. */
function readMsg(message: Buffer): Document {
  const end = message.length - ((message.readUInt32LE(16) & 1) === 0 ? 0 : 4);
  let command: Document = {};
  const sequences: Record<string, Document[]> = {};
  for (let at = 20; at < end; ) {
    const size = message.readInt32LE(at + 1);
    if (message[at] === 0) command = deserialize(message.subarray(at + 1, at + 1 + size));
    else {
      const nameEnd = message.indexOf(0, at + 5);
      const documents: Document[] = [];
      for (let from = nameEnd + 1; from < at + 1 + size; from += message.readInt32LE(from))
        documents.push(deserialize(message.subarray(from, from + message.readInt32LE(from))));
      sequences[message.toString("utf8", at + 5, nameEnd)] = documents;
    }
    at += 1 + size;
  }
  return { ...command, ...sequences };
}
