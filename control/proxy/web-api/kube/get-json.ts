import type { Agent, IncomingMessage } from "node:http";
import { HeldBytes } from "../../../../core/bytes/held-bytes.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { refusalHeader } from "../../../../core/kubernetes/refusal-header.ts";
import type { ListLimits } from "../../../limits/list-room.ts";
import { agentRequest, changedProtocol, refuseUpgrade } from "../../app-front/agent-requests.ts";
import { clusterError } from "./cluster-error.ts";

export interface JsonAsk {
  /** Name of the cluster, for messages. */
  readonly cluster: string;
  /** With its query. */
  readonly path: string;
}

/** The way to an API server. */
export interface JsonOver {
  readonly agent: Agent;
  /** Called with the length of each piece of an answer before it is kept. May throw PlatformError. */
  readonly hold: (bytes: number) => void;
  readonly limits: Pick<ListLimits, "answerMs" | "listMs">;
}

/** Longest answer, and longest refusal, bytes. */
const [maxAnswer, maxRefusal] = [8 * 1024 * 1024, 65_536] as const;
/** Most values in an answer, roughly: as objects they take up far more memory and time than as text. */
const maxValues = 1_000_000;
const headers = ["Host", "kubernetes", "Accept", "application/json", "User-Agent", "platform-web-ui"];

export interface JsonAnswer {
  readonly value: unknown;
  /** Length of its text, bytes. */
  readonly size: number;
}

/** The JSON of an API server's answer. Throws its refusal, `limit`, `timeout`, `unavailable`, and what `hold` throws. */
export async function getJson({ agent, hold, limits: { answerMs } }: JsonOver, { cluster, path }: JsonAsk): Promise<JsonAnswer> {
  const request = agentRequest({ method: "GET", path, headers, over: agent });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const late = new PlatformError("timeout", `Kubernetes cluster ${cluster} did not answer within ${answerMs / 1000} s`, { hint: "try again" });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    reject(late);
    request.destroy(late);
  }, answerMs);
  request.on("response", resolve).on("error", reject);
  refuseUpgrade(request, reject);
  request.once("close", () => reject(new Error("the connection ended without an answer"))).end();
  try {
    const response = await promise;
    // Without the fields of an upgrade, a 101 is a response for Node.
    if (response.statusCode === 101) throw changedProtocol();
    if (response.statusCode !== 200) throw await refusal(response, cluster);
    const body = await readBody(response, { cluster, maxBytes: maxAnswer, hold });
    return { value: parsed(body, cluster), size: body.length };
  } catch (thrown) {
    request.destroy();
    if (isLate) throw late;
    if (thrown instanceof PlatformError) throw thrown;
    throw new PlatformError("unavailable", `the connection to Kubernetes cluster ${cluster} was lost`, { cause: thrown, hint: "try again" });
  } finally {
    clearTimeout(timer);
  }
}

/** What the agent or the API server refuses with. Never rejects. */
export async function refusal(response: IncomingMessage, cluster: string): Promise<PlatformError> {
  const body = await readBody(response, { cluster, maxBytes: maxRefusal, hold: () => {} }).catch(() => Buffer.alloc(0));
  const agentCode = response.headers[refusalHeader];
  return clusterError(cluster, {
    status: response.statusCode ?? 0,
    body: body.toString("utf8"),
    agentCode: typeof agentCode === "string" ? agentCode : undefined,
  });
}

interface BodyFacts extends Pick<JsonAsk, "cluster">, Pick<JsonOver, "hold"> {
  readonly maxBytes: number;
}

/** An answer's text. Throws `limit`, and what its connection and `hold` throw. */
async function readBody(response: IncomingMessage, { cluster, maxBytes, hold }: BodyFacts): Promise<Buffer> {
  const held = new HeldBytes();
  for await (const part of response as AsyncIterable<Buffer>) {
    hold(part.length);
    held.add(part, maxBytes);
    if (held.length > maxBytes)
      throw new PlatformError("limit", `an answer of Kubernetes cluster ${cluster} is longer than ${maxBytes / 1024} KiB`, {
        hint: "choose a namespace",
      });
  }
  return held.bytes;
}

function parsed(body: Buffer, cluster: string): unknown {
  if (valuesIn(body) > maxValues)
    throw new PlatformError("limit", `an answer of Kubernetes cluster ${cluster} has more than ${maxValues} values`, { hint: "choose a namespace" });
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new PlatformError("unavailable", `the answer of Kubernetes cluster ${cluster} is not JSON`, { cause });
  }
}

const [comma, bracket, brace] = [0x2c, 0x5b, 0x7b] as const;

/** Of JSON, by what stands before each; what stands in texts counts too. */
function valuesIn(json: Buffer): number {
  let values = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === comma || byte === bracket || byte === brace) values += 1;
  }
  return values;
}
