import { expect, test } from "vitest";
import { judgeVersion } from "./judge-version.ts";

test.for<readonly [own: string, server: string, minClient: string, outcome: "ok" | "warning" | "unsupported"]>([
  ["1.2.3", "1.0.0", "0.0.0", "ok"],
  ["1.2.3", "2.0.0", "1.0.0", "ok"],
  ["1.2.3", "3.0.0", "2.0.0", "unsupported"],
  ["2.0.0", "1.9.9", "0.0.0", "warning"],
  ["1.0.0-source", "1.0.0", "0.0.0", "ok"],
  ["1.0.0", "a page", "", "warning"],
])("%s with a proxy of %s that takes %s and later: %s", ([own, server, minClient, outcome]) => {
  const judge = () => judgeVersion(own, { server, minClient });
  if (outcome === "unsupported") expect(judge).toThrow(expect.objectContaining({ code: "unsupported", message: expect.stringContaining(minClient) }));
  else expect(judge().warning === undefined ? "ok" : "warning").toBe(outcome);
});
