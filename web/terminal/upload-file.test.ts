import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { uploadFile } from "./upload-file.ts";

/** The proxy's end of the page's WebSocket. */
class Line extends EventTarget {
  static last: Line | undefined;
  readonly sent: unknown[] = [];

  constructor() {
    super();
    Line.last = this;
  }

  send(data: unknown): void {
    this.sent.push(data);
  }

  close(): void {}

  says(notice: object): void {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(notice) }));
  }
}

beforeEach(() => {
  vi.stubGlobal("WebSocket", Line);
  vi.stubGlobal("location", { host: "proxy.test" });
});
afterEach(() => void vi.unstubAllGlobals());

const look = "look whether the file is there before you send it again";

/** An upload of so many bytes, after the proxy is ready for it, and all of them have been sent. */
async function begun(size: number) {
  const stop = new AbortController();
  const ask = { node: "n1", login: "root", folder: "/tmp", name: "a", size, replace: false };
  const stored = uploadFile({ file: new Blob([new Uint8Array(size)]), ask, token: "t", progress: () => {}, signal: stop.signal });
  const line = Line.last ?? expect.fail();
  return { stored, line, stop: () => stop.abort() };
}

async function sentAll(size: number) {
  const upload = await begun(size);
  upload.line.dispatchEvent(new Event("open"));
  upload.line.says({ type: "ready" });
  await vi.waitUntil(() => upload.line.sent.length === (size === 0 ? 2 : 3), { timeout: 20_000 });
  return upload;
}

test("a file that is stored is found at its path", async () => {
  const { stored, line } = await sentAll(3);
  line.says({ type: "stored", path: "/tmp/a" });
  expect(await stored).toBe("/tmp/a");
});

test.for([3, 0])("an upload of %d bytes that ends once all of them are sent leaves open whether the file is there", async (size) => {
  const ends = [
    async () => {
      const { stored, stop } = await sentAll(size);
      stop();
      return stored;
    },
    async () => {
      const { stored, line } = await sentAll(size);
      line.dispatchEvent(new Event("close"));
      return stored;
    },
    async () => {
      const { stored, line } = await sentAll(size);
      line.says({ type: "error", error: { code: "unavailable", message: "the connection to web-1 was lost" } });
      return stored;
    },
  ];
  for (const end of ends) await expect(end()).rejects.toMatchObject({ code: "unavailable", hint: look });
});

test("a refusal of the host leaves nothing open", async () => {
  const { stored, line } = await sentAll(3);
  line.says({ type: "error", error: { code: "conflict", message: "could not store a on web-1: No space left on device" } });
  await expect(stored).rejects.toMatchObject({ code: "conflict", hint: undefined });
});

test.for([3, 0])("an upload of %d bytes that ends before it has begun has stored nothing", async (size) => {
  const lost = await begun(size);
  lost.line.dispatchEvent(new Event("close"));
  await expect(lost.stored).rejects.toMatchObject({ message: "the connection was lost: the file was not stored" });
  const cancelled = await begun(size);
  cancelled.stop();
  await expect(cancelled.stored).rejects.toMatchObject({ message: "the upload was cancelled", hint: undefined });
});
