import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Document } from "yaml";
import { someRuns } from "../../../../test/fuzz/some-runs.ts";
import { editKubeconfig } from "./edit-kubeconfig.ts";
import type { KubeconfigEdit, ListEdit } from "./kubeconfig-edit.ts";
import { type Entry, parseKubeconfig } from "./parse-kubeconfig.ts";

const untouched: ListEdit = { remove: [], replace: new Map(), append: [] };
const fresh = { name: "ours", cluster: { server: "https://proxy:443/v1/kube/YQ/Yg" } };
const edit = (lists: Partial<KubeconfigEdit["lists"]>, currentContext?: string): KubeconfigEdit => ({
  lists: { clusters: untouched, users: untouched, contexts: untouched, ...lists },
  currentContext,
});
const append = edit({ clusters: { ...untouched, append: [fresh] } });
const lines = "- name: ours\n  cluster:\n    server: https://proxy:443/v1/kube/YQ/Yg\n";

describe("an entry is added and every other byte stays", () => {
  test.for([
    ["a missing file", "", `apiVersion: v1\nkind: Config\nclusters:\n${lines}`],
    ["a comment alone", "# mine", `# mine\napiVersion: v1\nkind: Config\nclusters:\n${lines}`],
    ["no list", "kind: Config", `kind: Config\nclusters:\n${lines}`],
    ["an empty list", "clusters: [] # none\nkind: Config\n", `clusters: # none\n${lines}kind: Config\n`],
    ["null", "clusters: null\nkind: Config\n", `clusters:\n${lines}kind: Config\n`],
    ["nothing", "clusters:\nkind: Config\n", `clusters:\n${lines}kind: Config\n`],
    [
      "an indented list, comments, quotes and blank lines",
      "clusters:\n# first\n\n  - name:   'a'   # tail\n    cluster: {server: x}\n\n# of users\nusers: []\n# end\n",
      `clusters:\n# first\n\n  - name:   'a'   # tail\n    cluster: {server: x}\n${lines.replaceAll(/^/gm, "  ").trimEnd()}\n\n# of users\nusers: []\n# end\n`,
    ],
    ["no line end", "clusters:\n- name: a", `clusters:\n- name: a\n${lines}`],
    ["a block of text", "clusters:\n- name: |\n    a\n  x: |-\n    y\n", `clusters:\n- name: |\n    a\n  x: |-\n    y\n${lines}`],
    [
      "lines of Windows, and a mark of order",
      "\ufeffclusters:\r\n- name: a\r\n",
      `\ufeffclusters:\r\n- name: a\r\n${lines.replaceAll("\n", "\r\n")}`,
    ],
    ["JSON", '{"clusters": [{"name": "a", "n": 1.50}]}', undefined],
    ["a list in one line", "# c\nclusters: [{name: a}]\n", undefined],
  ] as const)("%s", ([, before, after]) => {
    const changed = editKubeconfig(before, append, "f");
    if (after !== undefined) return expect(changed).toBe(after);
    const { config } = parseKubeconfig(changed, "f");
    expect(config.clusters).toEqual([...parseKubeconfig(before, "f").config.clusters, fresh]);
    if (before.startsWith("{")) expect(JSON.parse(changed)).toMatchObject({ clusters: [{ n: 1.5 }, fresh] });
    else expect(changed).toMatch(/^# c\n/);
  });
});

test("an entry goes with its lines and the comment behind it; the last one leaves an empty list", () => {
  const text = "clusters: # all\n# of a\n- name: a # gone\n  x: 1\n# of b\n- name: b\nusers:\n- name: u\n";
  const without = (...remove: readonly number[]): string => editKubeconfig(text, edit({ clusters: { ...untouched, remove } }), "f");
  expect(without(0)).toBe("clusters: # all\n# of a\n# of b\n- name: b\nusers:\n- name: u\n");
  expect(without(1)).toBe("clusters: # all\n# of a\n- name: a # gone\n  x: 1\n# of b\nusers:\n- name: u\n");
  expect(without(0, 1)).toBe("clusters: [] # all\n# of a\n# of b\nusers:\n- name: u\n");
});

test("the selected context is changed in its line, or added", () => {
  expect(editKubeconfig('current-context: ""  # now\nkind: Config\n', edit({}, "a b"), "f")).toBe('current-context: "a b"  # now\nkind: Config\n');
  expect(editKubeconfig("kind: Config\n", edit({}, "a"), "f")).toBe("kind: Config\ncurrent-context: a\n");
  expect(editKubeconfig("current-context:\nkind: Config\n", edit({}, "yes"), "f")).toBe('current-context: "yes"\nkind: Config\n');
});

test.for([
  ["kind: [", "line 1"],
  ["a: b\na: c\n", "line 2"],
  ["- a\n", "not a map"],
  ["clusters: x\n", "clusters is not a list"],
  ["clusters: [x]\n", "entry 1 of clusters"],
  ["a: b\n---\nc: d\n", "several documents"],
  ["a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n", "alias"],
] as const)("%j is refused with the place", ([text, why]) => {
  expect(() => editKubeconfig(text, append, "/home/me/config")).toThrow(
    expect.objectContaining({ code: "invalid", message: expect.stringContaining(why) }),
  );
});

const word = fc.oneof(
  fc.constantFrom("yes", "no", "null", "1", "0x1", "~", "<<", "=", "a: b", "# x", "- a", "é\u2028", "12:30"),
  fc.string({ maxLength: 12 }),
);
const entry: fc.Arbitrary<Entry> = fc.record(
  {
    name: word,
    cluster: fc.dictionary(
      word.filter((key) => key !== "__proto__" && key !== "<<"),
      word,
      { maxKeys: 3, noNullPrototype: true },
    ),
  },
  { noNullPrototype: true },
);
const config = fc.record(
  { clusters: fc.array(entry, { maxLength: 4 }), users: fc.array(entry, { maxLength: 2 }), "current-context": word },
  { noNullPrototype: true },
);

test("any edit of any kubeconfig means what was asked for, and entries go as they came", () => {
  fc.assert(
    fc.property(config, fc.boolean(), fc.boolean(), fc.array(entry, { maxLength: 3 }), word, (before, indentSeq, flow, added, current) => {
      const document = new Document(before);
      if (flow) document.contents = document.createNode(before, { flow: true }) as never;
      const text = document.toString({ indentSeq, lineWidth: 0 });
      const changed = editKubeconfig(text, edit({ clusters: { ...untouched, append: added } }, current), "f");
      expect(parseKubeconfig(changed, "f").value).toEqual({ ...before, clusters: [...before.clusters, ...added], "current-context": current });
      const remove = added.map((_, index) => before.clusters.length + index);
      const after = editKubeconfig(changed, edit({ clusters: { ...untouched, remove } }, before["current-context"]), "f");
      expect(parseKubeconfig(after, "f").value).toEqual(before);
      if (!flow && before.clusters.length > 0) {
        const ends = (one: string): string => one.split("current-context:")[0] ?? "";
        expect(ends(after)).toBe(ends(text));
      }
    }),
    { numRuns: someRuns(100) },
  );
});

test("any text is refused or changed to what was meant", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string({ unit: fc.constantFrom("a", ":", " ", "-", "\n", "[", "]", "{", "}", "#", "'", '"', "&", "*", "|", "clusters:", "- name: x") }),
      ),
      (text) => {
        try {
          expect(parseKubeconfig(editKubeconfig(text, append, "f"), "f").config.clusters.at(-1)).toEqual(fresh);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "invalid" });
        }
      },
    ),
    { numRuns: someRuns(500) },
  );
});
