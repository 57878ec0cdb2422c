import fc from "fast-check";
import { expect, test } from "vitest";
import { formatPorts, hasPort, onlyPort, type PortRange, parsePorts, targetPort, tcpPortsSchema } from "./tcp-ports.ts";

const port = fc.integer({ min: 1, max: 65_535 });
const range = fc
  .tuple(port, port, fc.boolean())
  .map(([one, two, isRange]): PortRange => (isRange ? { port: Math.min(one, two), end_port: Math.max(one, two) } : { port: one }));

test("ranges of ports are read back from their text, with the same ports in them", () => {
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 64 }), port, (ranges, wanted) => {
      const text = formatPorts(ranges);
      expect(text.length).toBeLessThanOrEqual(768);
      const read = parsePorts(text) ?? [];
      expect(formatPorts(read)).toBe(text);
      expect(hasPort(read, wanted)).toBe(hasPort(ranges, wanted));
    }),
  );
});

test.for([[""], ["0"], ["65536"], ["7-6"], ["1,"], ["1-2-3"], ["x"], ["1 ,2"], [Array.from({ length: 65 }, () => "1").join(",")]] as const)(
  "no ports in %j",
  ([text]) => {
    expect(parsePorts(text)).toBeUndefined();
  },
);

test.for<readonly [name: string, ranges: unknown]>([
  ["none at all", []],
  ["port 0", [{ port: 0 }]],
  ["a port that is too large", [{ port: 1, end_port: 65_536 }]],
  ["an end before the beginning", [{ port: 7, end_port: 6 }]],
  ["half a port", [{ port: 1.5 }]],
  ["a misspelt key", [{ port: 1, endport: 2 }]],
  ["too many ranges", Array.from({ length: 65 }, () => ({ port: 1 }))],
])("a list with %s is refused", ([, ranges]) => {
  expect(tcpPortsSchema.safeParse(ranges).success).toBe(false);
});

const one = [{ port: 5432 }];
const several = [{ port: 5432 }, { port: 6000, end_port: 6010 }];

test.for<readonly [tcpPorts: readonly PortRange[] | undefined, asked: string | undefined, expected: number | undefined | "invalid" | "denied"]>([
  [undefined, undefined, undefined],
  [undefined, "5432", "invalid"],
  [one, undefined, 5432],
  [[{ port: 7, end_port: 7 }], undefined, 7],
  [one, "5432", 5432],
  [one, "5433", "denied"],
  [several, undefined, "invalid"],
  [[{ port: 1, end_port: 2 }], undefined, "invalid"],
  [several, "6000", 6000],
  [several, "6010", 6010],
  [several, "6011", "denied"],
  [several, "5431", "denied"],
  [several, "05432", "denied"],
  [several, "", "denied"],
  [several, "5432 ", "denied"],
  [several, "__proto__", "denied"],
])("of the ports %j, %j leads to %j", ([tcpPorts, asked, expected]) => {
  const choose = () => targetPort({ name: "pg", tcpPorts }, asked);
  if (expected === "invalid" || expected === "denied") expect(choose).toThrow(expect.objectContaining({ code: expected }));
  else expect(choose()).toBe(expected);
  expect(onlyPort(several)).toBeUndefined();
});
