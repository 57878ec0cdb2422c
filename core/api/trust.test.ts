import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { parseCaPin } from "./ca-pin.ts";
import { trustByPin } from "./trust.ts";

const pin = `sha256:${"ab".repeat(32)}`;

test.for([[pin], [` ${pin}\n`], [pin.toUpperCase()]])("%j is a pin", ([text]) => {
  expect(parseCaPin(text as string)).toBe(pin);
});

test.for([[""], ["sha256:"], [pin.slice(0, -1)], [`${pin}0`], [pin.replace("sha256", "sha1")], [pin.slice(7)], [pin.replace("a", "g")]])(
  "%j is not a pin",
  ([text]) => {
    expect(() => parseCaPin(text as string)).toThrow(expect.objectContaining({ code: "invalid" }));
  },
);

test("a peer that does not speak TLS, or hangs up, is unavailable", async () => {
  for (const answer of ["HTTP/1.1 400 Bad Request\r\n\r\n", ""]) {
    const [near, far] = duplexPair();
    far.on("error", () => {}).resume();
    far.end(answer);
    await expect(trustByPin({ open: async () => near, pins: [pin] })).rejects.toMatchObject({ code: "unavailable" });
  }
});
