import { expect, test } from "vitest";
import { shownText } from "./shown-text.ts";

test.for([
  [Buffer.from("cat ä€😀"), "cat ä€😀"],
  [Buffer.from("cat \xe4.txt", "latin1"), "cat \\xe4.txt"],
  // Three bytes that form a character do not make the rest valid.
  [Buffer.concat([Buffer.from("€"), Buffer.of(0xff)]), "\\xe2\\x82\\xac\\xff"],
  // As many characters as bytes, were each replaced.
  [Buffer.of(0x61, 0xff), "a\\xff"],
  [Buffer.from("\uFFFD"), "\uFFFD"],
  [Buffer.alloc(0), ""],
] as const)("%j is shown as %s", ([bytes, text]) => {
  expect(shownText(bytes)).toBe(text);
});
