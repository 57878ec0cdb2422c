import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { memoryIo } from "../../memory-io.ts";
import { loopback, openLocalPort, portOption } from "./local-port.ts";

test("the failure of one connection is printed without control characters of the other side, and ends that one alone", async () => {
  const io = memoryIo();
  let count = 0;
  await using local = await openLocalPort(io, 0, async (socket) => {
    count += 1;
    if (count === 2) return void socket.resume().end("served");
    throw new PlatformError("denied", "access denied: \u001b[2J\u001b]0;owned\u0007", { hint: "ask\u009b1A" });
  });
  const answer = async (): Promise<string> => {
    const socket = connect(local.port, loopback);
    socket.on("error", () => {});
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(socket, "close");
    return Buffer.concat(chunks).toString();
  };
  expect(await answer()).toBe("");
  expect(await answer()).toBe("served");
  const printed = io.err();
  expect(printed).toMatch(/^ERROR: access denied: /);
  expect(printed.split("\n")).toHaveLength(3);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(printed).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

test.for([["65536"], ["-1"], ["x"], ["1e3"], [""]] as const)("%j is not a port", ([text]) => {
  expect(() => portOption(text)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("a port that is in use is refused with what to do", async () => {
  const io = memoryIo();
  await using local = await openLocalPort(io, 0, async () => {});
  await expect(openLocalPort(io, local.port, async () => {})).rejects.toMatchObject({ code: "unavailable", hint: expect.stringContaining("--port") });
});
