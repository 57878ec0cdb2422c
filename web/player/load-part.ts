import { bearer, errorOf } from "../api/request.ts";
import type { PartAsk, RecordingPart } from "./recording-source.ts";

/** Maximum time for a part, ms. */
const longestMs = 60_000;

/** Asks the proxy for a part of a recording. Throws CallError. */
export async function loadPart(sid: string, { offset, length, signal }: PartAsk): Promise<RecordingPart> {
  const query = new URLSearchParams({ offset: String(offset), length: String(length) });
  const answer = await fetch(`/webapi/v1/recordings/${encodeURIComponent(sid)}/content?${query}`, {
    headers: { Authorization: `Bearer ${bearer.value ?? ""}` },
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.any([signal, AbortSignal.timeout(longestMs)]),
  });
  if (!answer.ok) throw await errorOf(answer);
  return { bytes: new Uint8Array(await answer.arrayBuffer()), isRunning: answer.headers.get("Platform-Recording-State") === "running" };
}
