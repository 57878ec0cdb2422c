import { Readable } from "node:stream";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { HeaderField } from "../../../core/resources/app-headers.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { type ClientRequest, fieldOf, type UpstreamAnswer, type WholeResponse } from "../../http/exchange.ts";
import type { Judged } from "../http/judged.ts";
import { goneStatus, RequestNote } from "../http/request-note.ts";
import { sentHeaders } from "../http/sent-headers.ts";
import { statusOf } from "../http/status-response.ts";
import { unreachedError } from "../http/unreached-error.ts";
import type { KubeSession } from "../kube-session.ts";
import { readAnswer } from "../upstream/read-answer.ts";
import { type DeletionRoad, deleteCollection, type PartialDeletion } from "./delete-collection.ts";
import { maxPage } from "./read-page.ts";

/** Time limit of one request for all of its objects, ms: that of API servers. */
const deletionMs = 60_000;
/** Longest answer to the deletion of one object, bytes: API servers do not store longer objects. */
const maxAnswer = 8 * 1024 * 1024;
/** Names are enough, as objects may be large. Servers that cannot omit the rest send all of it. */
const metadataAlone = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

export interface DeletionRequest {
  readonly asked: ClientRequest;
  readonly judged: Judged;
  readonly deletion: PartialDeletion;
  /** Options of the deletion as the client wrote them, the same for each object. */
  readonly body: Buffer;
  /** The client has left, or the platform ends the request: nothing more is deleted. */
  readonly signal: AbortSignal;
  readonly limitMs?: number;
}

/** Deletes those of several objects that the roles allow, with an audit event for each. Throws PlatformError. */
export async function serveDeletion(request: DeletionRequest, session: KubeSession): Promise<WholeResponse> {
  const { deletion, limitMs = deletionMs } = request;
  const limit = AbortSignal.timeout(limitMs);
  const road = new UserRoad({ ...request, signal: AbortSignal.any([request.signal, limit]) }, session);
  try {
    return await deleteCollection(deletion, road);
  } catch (thrown) {
    if (!limit.aborted || request.signal.aborted) throw thrown;
    throw new PlatformError("timeout", `objects are left: the API server did not delete them within ${limitMs / 1000} s`, {
      cause: thrown,
      hint: "send the request again",
    });
  }
}

class UserRoad implements DeletionRoad {
  readonly #request: DeletionRequest;
  readonly #session: KubeSession;

  constructor(request: DeletionRequest, session: KubeSession) {
    this.#request = request;
    this.#session = session;
  }

  readonly list: DeletionRoad["list"] = async (target) =>
    await this.#ask({ method: "GET", target, headers: [["Accept", metadataAlone]], body: undefined }, maxPage.bytes);

  readonly deleteOne: DeletionRoad["deleteOne"] = async (name, { path, target }) => {
    const { asked, judged, body, signal } = this.#request;
    const note = new RequestNote({ ...asked, target: path }, this.#session);
    note.judged({ ...judged, facts: { ...judged.facts, verb: "delete", name } });
    try {
      await note.admit(signal);
      const sent = { method: "DELETE", target, headers: this.#optionFields(), body: body.length === 0 ? undefined : body } as const;
      const whole = await this.#ask(sent, maxAnswer);
      note.end(whole.head.status);
      return whole;
    } catch (thrown) {
      const error = toPlatformError(thrown);
      note.end(signal.aborted ? goneStatus : statusOf(error).code, error);
      throw error;
    }
  };

  /** Of the options in the body. */
  #optionFields(): readonly HeaderField[] {
    const { asked, body } = this.#request;
    const own = asked.headers.filter(([name]) => ["content-type", "content-encoding"].includes(name.toLowerCase()));
    return [["Accept", "application/json"], ...(body.length === 0 ? [] : [...own, ["Content-Length", String(body.length)] as const])];
  }

  async #ask({ method, target, headers, body }: Sent, maxBytes: number): Promise<WholeResponse> {
    const { asked, judged, signal } = this.#request;
    const { cluster, clientAddress, touch } = this.#session;
    signal.throwIfAborted();
    touch();
    const agent = asked.headers.filter(([name]) => name.toLowerCase() === "user-agent");
    const fields = sentHeaders({ headers: [...headers, ...agent], identity: judged.identity, clientIp: ipOf(clientAddress), isProxied: false });
    const more = { trailers: () => [], signal, onInform: () => {}, onData: () => {} };
    try {
      const answer = await cluster.api.send({ method, target, headers: fields, body: body && Readable.from([body]), ...more });
      return wholeOf(answer, await readAnswer(answer, maxBytes));
    } catch (thrown) {
      throw unreachedError(cluster.name, thrown);
    }
  }
}

interface Sent {
  readonly method: "GET" | "DELETE";
  readonly target: string;
  readonly headers: readonly HeaderField[];
  readonly body: Buffer | undefined;
}

/** An answer with its body, for the client. Pure. */
function wholeOf({ status, message, headers }: UpstreamAnswer, body: Buffer): WholeResponse {
  const type = fieldOf(headers, "content-type");
  const kept = [...(type === undefined ? [] : [["Content-Type", type] as const]), ["Content-Length", String(body.length)] as const];
  return { head: { status, message, headers: kept }, body };
}
