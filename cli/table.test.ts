import { expect, test } from "vitest";
import { renderFacts, renderLabels, renderTable } from "./table.ts";

test("a table has a header, dashes as wide as its columns, and no blanks at the end of a line", () => {
  const rows = [
    ["web-1", "tunnel", "env=prod"],
    ["db", "", ""],
  ];
  expect(renderTable(["Node Name", "Address", "Labels"], rows)).toBe(
    ["Node Name Address Labels", "--------- ------- --------", "web-1     tunnel  env=prod", "db"].join("\n"),
  );
});

test("a long cell is cut, and control characters of a peer are shown, not obeyed", () => {
  expect(renderTable(["Name"], [["abcdefghij"]], 5)).toBe("Name\n-----\nabcd…");
  expect(renderTable(["Name"], [["a\u001b[31mred\nnext\u202ex"]])).toContain("a\\x1b[31mred next\\u202ex");
});

test("facts stand below each other and labels come in the order of their keys", () => {
  expect(
    renderFacts([
      ["Cluster", "c"],
      ["CA pin", "p"],
    ]),
  ).toBe("Cluster: c\nCA pin:  p");
  expect(renderLabels({ b: "2", a: "1" })).toBe("a=1,b=2");
  expect(renderLabels(undefined)).toBe("");
});
