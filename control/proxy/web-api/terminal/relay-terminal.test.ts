import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { expect, test, vi } from "vitest";
import { webSocketPair } from "../../../../test/inside/web-socket-pair.ts";
import { SocketInbox } from "../api/socket-inbox.ts";
import { relayTerminal } from "./relay-terminal.ts";

const chunk = Buffer.alloc(65_536, "y");

/** A terminal whose program never stops printing, unless another one is given. */
async function printing(
  output = new Readable({
    read() {
      this.push(chunk);
    },
  }),
) {
  const pair = await webSocketPair();
  const { client: browser, server: socket, wire } = pair;
  const shell = {
    ...{ outputs: [output], input: new PassThrough(), host: "web-1", login: "root", closed: once(output, "close") },
    ...{ resize: () => {}, ended: () => ({}), close: () => {} },
  };
  const over = new AbortController();
  const relaying = relayTerminal(shell, { socket, inbox: new SocketInbox(socket), signal: over.signal, typed: () => {} });
  let sent = 0;
  output.on("data", (bytes: Buffer) => (sent += bytes.length));
  /** Resolves when the proxy has it. */
  const claim = async (bytes: number): Promise<void> => {
    browser.send(JSON.stringify({ type: "read", bytes }));
    await once(socket, "message");
  };
  const close = (): void => {
    output.destroy();
    pair[Symbol.dispose]();
  };
  const end = async (): Promise<void> => {
    over.abort(new Error("the test has ended"));
    await expect(relaying).rejects.toThrow("the test has ended");
    close();
  };
  return { browser, socket, wire, relaying, sent: () => sent, claim, end, close };
}

test("a browser that reports output as shown and reads nothing gets no more than a window, and all of it once it reads", async () => {
  const { browser, socket, sent, claim, end } = await printing();
  browser.pause();
  let claimed = 0;
  for (let count = 0; count < 200; count += 1) {
    const now = sent();
    await claim(now - claimed);
    claimed = now;
  }
  expect(socket.bufferedAmount).toBeLessThan(1_000_000);
  let got = 0;
  browser.resume();
  while (got <= claimed) got += ((await once(browser, "message")) as [Buffer])[0].length;
  await end();
});

test("a browser that reports more output as shown than it was sent is cut off", async () => {
  const { relaying, sent, claim, close } = await printing();
  const outcome = expect(relaying).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("more output as shown than it was sent"),
  });
  await claim(sent());
  await claim(67_108_864);
  await outcome;
  close();
});

test("output in pieces of one byte that the browser does not take waits as one message, and arrives whole and in order", async () => {
  const output = new Readable({ read: () => {} });
  const { browser, socket, wire, end } = await printing(output);
  const send = vi.spyOn(socket, "send");
  wire.cork();
  const pieces = Array.from({ length: 100_000 }, (_, index) => Buffer.of(index % 251));
  for (const piece of pieces) output.push(piece);
  await vi.waitUntil(() => output.readableLength === 0, { timeout: 20_000 });
  expect(send).toHaveBeenCalledTimes(1);
  wire.uncork();
  const got: Buffer[] = [];
  while (Buffer.concat(got).length < pieces.length) got.push(((await once(browser, "message")) as [Buffer])[0]);
  expect([Buffer.concat(got).equals(Buffer.concat(pieces)), got.length]).toEqual([true, 2]);
  await end();
});

test("the end of the output reaches a browser that has not taken what came before", async () => {
  const output = new Readable({ read: () => {} });
  const { browser, socket, wire, relaying } = await printing(output);
  wire.cork();
  for (const text of ["one ", "two ", "three"]) output.push(text);
  output.push(null);
  await relaying;
  socket.close();
  wire.uncork();
  const got: Buffer[] = [];
  browser.on("message", (bytes: Buffer) => got.push(bytes));
  await once(browser, "close");
  expect(Buffer.concat(got).toString()).toBe("one two three");
});

test("a browser that asks again and again whether the proxy is there, and takes no answer, has one answer waiting", async () => {
  const { browser, socket, wire, claim, end } = await printing(new Readable({ read: () => {} }));
  const send = vi.spyOn(socket, "send");
  wire.cork();
  for (let count = 0; count < 100; count += 1) await claim(0);
  expect(send).toHaveBeenCalledTimes(1);
  wire.uncork();
  expect(String(((await once(browser, "message")) as [Buffer])[0])).toBe('{"type":"alive"}');
  await claim(0);
  expect(send).toHaveBeenCalledTimes(2);
  await end();
});
