import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bearer, call, isLoggedOut, onRefused } from "./request.ts";

/** What comes in place of an answer, once the call is made. */
let failing: (signal: AbortSignal) => Promise<Response>;

beforeEach(() => {
  vi.stubGlobal("fetch", async (_path: string, { signal }: { readonly signal: AbortSignal }) => await failing(signal));
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const untilAborted = async (signal: AbortSignal): Promise<Response> =>
  await new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });

test("a proxy that cannot be reached is named as that", async () => {
  failing = async () => await Promise.reject(new TypeError("failed to fetch"));
  await expect(call("/hosts")).rejects.toMatchObject({ code: "unavailable", message: "could not reach the proxy" });
});

test.for([
  ["GET", "try again"],
  ["POST", "look whether it was done before you try again"],
  ["DELETE", "look whether it was done before you try again"],
] as const)("an answer to %s that does not come in time is not taken for a proxy that is away", async ([method, hint]) => {
  vi.spyOn(AbortSignal, "timeout").mockImplementation(() => AbortSignal.abort(new DOMException("too late", "TimeoutError")));
  failing = untilAborted;
  await expect(call("/hosts", { method })).rejects.toMatchObject({ code: "timeout", message: "the proxy did not answer within 30 s", hint });
});

test("an answer that is cut off at the limit of time is late, too", async () => {
  const limit = new AbortController();
  vi.spyOn(AbortSignal, "timeout").mockImplementation(() => limit.signal);
  failing = async () => {
    const pull = (sink: ReadableStreamDefaultController): void => {
      limit.abort();
      sink.error(new DOMException("too late", "TimeoutError"));
    };
    const body = new ReadableStream({ pull });
    return new Response(body, { status: 200 });
  };
  await expect(call("/hosts")).rejects.toMatchObject({ code: "timeout" });
});

test("a call that its page has given up throws the reason", async () => {
  failing = untilAborted;
  const reason = new Error("left");
  await expect(call("/hosts", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

const answers = (...list: readonly (readonly [status: number, body: object])[]): (() => Promise<Response>) => {
  const left = [...list];
  return async () => {
    const [status, body] = left.shift() ?? [500, {}];
    return await Promise.resolve(Response.json(body, { status }));
  };
};
const refusal = (code: string): object => ({ error: { code, message: "refused" } });

test.for([
  ["denied", 403],
  ["unauthenticated", 401],
] as const)("a call that is refused as %s is made once more where the browser has another session", async ([code, status]) => {
  bearer.value = "before";
  isLoggedOut.value = false;
  onRefused(async () => await Promise.resolve(true));
  failing = answers([status, refusal(code)], [200, { hosts: [] }]);
  await expect(call("/hosts")).resolves.toEqual({ hosts: [] });
  failing = answers([status, refusal(code)], [status, refusal(code)], [200, {}]);
  await expect(call("/hosts")).rejects.toMatchObject({ code });
});

test("without another session the page asks for a login, and the call is not repeated", async () => {
  bearer.value = "before";
  isLoggedOut.value = false;
  onRefused(async () => await Promise.resolve(false));
  failing = answers([401, refusal("unauthenticated")], [200, {}]);
  await expect(call("/hosts")).rejects.toMatchObject({ code: "unauthenticated" });
  expect(isLoggedOut.value).toBe(true);
});
