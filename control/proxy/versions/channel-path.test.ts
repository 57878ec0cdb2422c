import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { parseChannelPath } from "./channel-path.ts";

test.for([
  ["default/version", "default", "version"],
  ["stable/cloud/critical", "stable/cloud", "critical"],
  ["stable%2Fcloud/version", "stable/cloud", "version"],
  ["version/version", "version", "version"],
  ["a.b-c_d~e/f/g/version", "a.b-c_d~e/f/g", "version"],
] as const)("%s asks for a channel", ([path, channel, what]) => {
  expect(parseChannelPath(path)).toEqual({ channel, what });
});

const bad = [
  "",
  "version",
  "/version",
  "default",
  "default/",
  "default/Version",
  "default/version/",
  "default/versions",
  "a//version",
  "a/../version",
  "a/%2e%2e/version",
  "%/version",
  "%ff/version",
  "./version",
];
test.for(bad)("%j is refused", (path) => {
  expect(() => parseChannelPath(path)).toThrow(expect.objectContaining({ code: "invalid", hint: expect.any(String) }));
});

test("any path names a channel or is refused with PlatformError", () => {
  const piece = fc.constantFrom("a", "/", "%2f", "%", "..", ".", "version", "critical", "\0", "é", "?");
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece, { maxLength: 8 }).map((all) => `${all.join("")}/version`),
      ),
      (path) => {
        try {
          const { channel } = parseChannelPath(path);
          expect(channel.split("/")).not.toContain("");
          expect(channel.split("/")).not.toContain("..");
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
        }
      },
    ),
  );
});
