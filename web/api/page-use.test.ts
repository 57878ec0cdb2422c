import { afterEach, expect, test, vi } from "vitest";
import { noticeUse } from "./page-use.ts";
import { call } from "./request.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("a page that refreshes itself does not use its session, until somebody uses the page", async () => {
  const sent: (string | null)[] = [];
  vi.stubGlobal("fetch", async (_path: string, { headers }: { readonly headers: Headers }) => {
    sent.push(headers.get("platform-unused"));
    return await Promise.resolve(new Response("{}", { status: 200 }));
  });
  const page = new EventTarget();
  noticeUse(page);
  const sentAfter = async (type: string | undefined, method: "GET" | "POST" = "GET"): Promise<string | null | undefined> => {
    if (type !== undefined) page.dispatchEvent(new Event(type));
    await call("/hosts", { method });
    return sent.at(-1);
  };
  await sentAfter("keydown");
  expect(await sentAfter(undefined)).toBe("1");
  for (const type of ["keydown", "pointerdown", "wheel"]) {
    expect([type, await sentAfter(type), await sentAfter(undefined)]).toEqual([type, null, "1"]);
  }
  expect([await sentAfter("focus"), await sentAfter(undefined, "POST")]).toEqual(["1", null]);
});
