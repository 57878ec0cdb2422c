import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commandFailure } from "./command-failure.ts";
import { recordedFailures } from "./testing/recorded-failures.ts";

const ended = (tail: string) => ({ ended: "exit", status: 100, stdout: "", tail }) as const;

describe("a package manager's message", () => {
  test.for(recordedFailures)("%s (%s): %s", ([, step, reason, text]) => {
    expect(commandFailure("it failed", step, ended(text)).reason).toBe(reason);
  });

  test("is reported on one bounded line, errors first", () => {
    const text = `Reading package lists...\nE: first\nIgn:1 http://a.example\nE: second\n${"x".repeat(3000)}`;
    const { message } = commandFailure("the index could not be read", "refresh", ended(text));
    expect(message).toBe("the index could not be read: E: first; E: second");
    expect(commandFailure("it failed", "other", ended("y".repeat(9000))).message.length).toBeLessThan(500);
    expect(commandFailure("it failed", "other", ended("")).message).toBe("it failed: exit status 100");
  });

  test("keeps the cause that dnf reports", () => {
    const text = `Errors during downloading metadata for repository 'platform':
  - Curl error (60): SSL peer certificate or SSH remote key was not OK for https://a.example/repodata/repomd.xml [SSL certificate problem]
Error: Failed to download metadata for repo 'platform': Cannot download repomd.xml: All mirrors were tried`;
    expect(commandFailure("it failed", "refresh", ended(text)).message).toMatch(
      /^it failed: - Curl error \(60\).*; Error: .* All mirrors were tried$/,
    );
  });

  test("of a command that takes too long or is missing is reported too", () => {
    expect(commandFailure("it", "refresh", { ended: "limit", status: -1, stdout: "", tail: "" }).reason).toBe("repository_unreachable");
    expect(commandFailure("it", "install", { ended: "limit", status: -1, stdout: "", tail: "" }).reason).toBe("package_manager_failed");
    expect(commandFailure("it", "other", { ended: "missing", status: -1, stdout: "", tail: "" }).reason).toBe("package_manager_failed");
  });

  test("never becomes several lines", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(commandFailure("it", "install", ended(text)).message).not.toContain("\n");
      }),
    );
  });
});
