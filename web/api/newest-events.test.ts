import { afterEach, expect, test, vi } from "vitest";
import { newestEvents } from "./newest-events.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("events that take several answers are all there, and the newest ones stay", async () => {
  const asked: string[] = [];
  const pages: Readonly<Record<string, object>> = {
    "": { events: [{ uid: "1" }, { uid: "2" }], cursor: "a", resume: "" },
    a: { events: [{ uid: "3" }], cursor: "b", resume: "" },
    b: { events: [{ uid: "4" }], cursor: "", resume: "r" },
  };
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    return await Promise.resolve(Response.json(pages[new URL(path, "https://p.test").searchParams.get("cursor") ?? ""]));
  });
  const found = await newestEvents({ user: "ann" }, { most: 3, signal: new AbortController().signal });
  expect(found).toEqual({ events: [{ uid: "2" }, { uid: "3" }, { uid: "4" }], resume: "r" });
  expect(asked).toEqual(["/webapi/v1/events?user=ann&newest=3", "/webapi/v1/events?user=ann&cursor=a", "/webapi/v1/events?user=ann&cursor=b"]);
});
