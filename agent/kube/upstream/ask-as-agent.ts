import { Readable } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HeaderField } from "../../../core/resources/app-headers.ts";
import type { ApiServer } from "./api-server.ts";
import { readAnswer } from "./read-answer.ts";

export interface AgentQuestion {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly path: string;
  readonly body?: object;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Asks an API server something as the agent itself. `json` is undefined for an answer that is not JSON. Throws PlatformError and Node's errors. */
export async function askAsAgent(
  api: Pick<ApiServer, "send">,
  { method, path, body, timeoutMs, maxBytes }: AgentQuestion,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const headers: readonly HeaderField[] = [
    ["Accept", "application/json"],
    ["User-Agent", "platform-agent"],
    ...(bytes === undefined ? [] : [["Content-Type", "application/json"] as const, ["Content-Length", String(bytes.length)] as const]),
  ];
  const signal = AbortSignal.timeout(timeoutMs);
  const sent = { method, target: path, headers, trailers: () => [], signal, onInform: () => {}, onData: () => {} };
  try {
    const answer = await api.send({ ...sent, body: bytes === undefined ? undefined : Readable.from([bytes]) });
    return { status: answer.status, json: jsonOf((await readAnswer(answer, maxBytes)).toString("utf8")) };
  } catch (thrown) {
    if (signal.aborted) throw new PlatformError("timeout", `the API server did not answer ${path} within ${timeoutMs / 1000} s`, { cause: thrown });
    throw thrown;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
