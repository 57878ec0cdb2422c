import { expect, test } from "vitest";
import { encodeMember } from "../../../core/recording/member.ts";
import { encodeRequest, encodeRequestsHeader } from "../../../core/recording/requests.ts";
import { openRequests } from "./request-tape.ts";

const header = encodeRequestsHeader({ started: "2026-01-02T03:04:05.678Z", app: "web", session: "s-1" });
const requests = [
  { time: 0.5, method: "GET", path: "/a", query: "b=c", status: 200 },
  { time: 61.25, method: "POST", path: "/\u001b[31m", query: "", status: 502 },
];

test("a recording of requests is shown line by line, safe for a terminal, and read back", () => {
  const file = Buffer.concat([encodeMember(Buffer.from(header), 0), encodeMember(Buffer.from(requests.map(encodeRequest).join("")), 1)]);
  const tape = openRequests(file, "web");
  const text = [...tape.text()].join("");
  expect(text).toContain("2026-01-02T03:04:05Z web (session s-1)\n0:00.500   GET /a?b=c 200\n1:01.250   POST /");
  expect(text).not.toContain("\u001b");
  expect([...tape.requests()]).toEqual(requests);
  expect([...tape.content()].join("")).toBe(header + requests.map(encodeRequest).join(""));
  expect([tape.length, tape.damages]).toEqual([61.25, 0]);
});

test("lines that are none are damage, and a file without any is refused", () => {
  const tape = openRequests(
    Buffer.from(`${header}{"event":"app.session.request","time":-1}\nnot json\n${encodeRequest({ ...requests[0], time: 1 } as never)}`),
    "web",
  );
  expect([...tape.requests()]).toHaveLength(1);
  expect(tape.damages).toBeGreaterThan(0);
  expect(() => openRequests(Buffer.from("{}\n"), "x")).toThrow(/contains no recording of requests/);
});
