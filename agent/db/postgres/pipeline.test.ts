import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { Settle } from "../engine.ts";
import { Pipeline } from "./pipeline.ts";

const failure = { severity: "ERROR", state: "42601", message: "syntax error" };

describe("a pipeline", () => {
  let pipeline: Pipeline;
  let settled: string[];
  beforeEach(() => {
    pipeline = new Pipeline();
    settled = [];
  });

  const query = (name: string): void =>
    pipeline.push({ kind: "query", settle: (why) => void settled.push(why === undefined ? name : `${name}: ${why.message}`) });
  const parse = (statement: string, text: string): void => pipeline.push({ kind: "parse", statement, text });
  const bind = (portal: string, statement: string): void => pipeline.push({ kind: "bind", portal, text: pipeline.statement(statement) });
  const closeStatement = (name: string): void => pipeline.push({ kind: "close", what: "statement", name });
  const push = (...kinds: ("describe" | "execute" | "function" | "sync" | "copyEnd")[]): void => {
    for (const kind of kinds) pipeline.push({ kind });
  };
  /** E fails; all other letters are the server's messages. */
  const answer = (letters: string): void => {
    for (const letter of letters) pipeline.answer(letter, letter === "E" ? { failure } : {});
  };
  /** A statement that the server has for sure. */
  const prepare = (name: string, text: string): void => {
    parse(name, text);
    push("sync");
    answer("1Z");
  };

  test("each query gets its own outcome, also when they were sent ahead", () => {
    for (const name of ["a", "b", "c"]) query(name);
    answer("TDCZ");
    expect(settled).toEqual(["a"]);
    answer("CEZIZ");
    expect(settled).toEqual(["a", "b: syntax error", "c"]);
  });

  test("an executed statement is known within one batch, by its name and without one", () => {
    parse("", "select 1");
    bind("", "");
    expect(pipeline.portal("")).toBe("select 1");
    push("describe", "execute", "sync");
    answer("12TDCZ");
    prepare("s", "select 2");
    bind("p", "s");
    expect(pipeline.portal("p")).toBe("select 2");
    closeStatement("s");
    expect(pipeline.statement("s")).toBeUndefined();
  });

  test("a failed Parse leaves the statement that the server has", () => {
    prepare("s", "delete from t");
    parse("s", "select 1");
    push("sync");
    expect(pipeline.statement("s")).toBeUndefined();
    answer("EZ");
    expect(pipeline.statement("s")).toBe("delete from t");
  });

  test("what follows a failure up to the Sync has not happened", () => {
    prepare("s", "delete from t");
    parse("", "nonsense");
    closeStatement("s");
    parse("s", "select 1");
    answer("E");
    parse("s", "select 2");
    query("skipped");
    push("execute", "sync");
    answer("Z");
    expect(pipeline.statement("s")).toBe("delete from t");
    expect(settled).toEqual(["skipped"]);
    query("next");
    answer("CZ");
    expect(settled).toEqual(["skipped", "next"]);
  });

  test("a failed Execute does not take the next query's place", () => {
    push("execute");
    push("sync");
    query("a");
    answer("EZ");
    expect(settled).toEqual([]);
    answer("CZ");
    expect(settled).toEqual(["a"]);
  });

  test.for(["DEALLOCATE", "DISCARD ALL", "PREPARE", "DECLARE CURSOR"])("%s in SQL makes every name uncertain", (tag) => {
    prepare("s", "select 1");
    query("a");
    expect(pipeline.statement("s")).toBeUndefined();
    pipeline.answer("C", { tag: `${tag}\0` });
    answer("Z");
    expect(pipeline.statement("s")).toBeUndefined();
  });

  test("a Sync that is sent into a COPY gets no answer", () => {
    push("execute", "sync");
    answer("G");
    push("sync", "copyEnd", "sync");
    query("a");
    answer("CZEZ");
    expect(settled).toEqual(["a: syntax error"]);
    push("execute", "sync", "copyEnd", "sync");
    query("b");
    answer("GCZEZ");
    expect(settled).toEqual(["a: syntax error", "b: syntax error"]);
  });

  test("a COPY that fails ends, and the rest of it is ignored", () => {
    query("copy");
    answer("GEZ");
    push("copyEnd");
    query("a");
    answer("CZ");
    expect(settled).toEqual(["copy: syntax error", "a"]);
  });

  test("a function call is answered like a query", () => {
    push("function");
    query("a");
    answer("EZ");
    answer("CZ");
    expect(settled).toEqual(["a"]);
  });

  test("with too many messages ahead, or an answer to none of them, nothing is stated any more", () => {
    prepare("s", "select 1");
    query("a");
    for (let count = 0; count < 2_048; count += 1) push("describe");
    expect(settled).toEqual(["a"]);
    query("b");
    expect(settled).toEqual(["a", "b"]);
    expect(pipeline.statement("s")).toBeUndefined();
    pipeline = new Pipeline();
    push("sync");
    answer("1");
    prepare("s", "select 1");
    expect(pipeline.statement("s")).toBeUndefined();
  });

  test("with too much text ahead, nothing is stated any more; with as much that is answered, it is", () => {
    const text = "x".repeat(2_000);
    for (let count = 0; count < 300; count += 1) {
      pipeline.push({ kind: "parse", statement: `s${count}`, text });
      answer("1");
    }
    expect(pipeline.statement("s299")).toBe(text);
    for (let count = 0; count < 131; count += 1) pipeline.push({ kind: "parse", statement: `s${count}`, text });
    expect(pipeline.statement("s130")).toBe(text);
    pipeline.push({ kind: "parse", statement: "s", text });
    expect(pipeline.statement("s299")).toBeUndefined();
  });

  test("the end of the session settles what is open", () => {
    query("a");
    pipeline.close();
    expect(settled).toEqual(["a"]);
  });

  describe("for the recording", () => {
    let results: string[];
    beforeEach(() => {
      results = [];
    });
    const resultOf =
      (name: string): Settle =>
      ({ outcome, rows, affected, message }) =>
        void results.push([name, outcome, rows ?? "", affected ?? "", message ?? ""].join(" ").trim());
    const executed = (name: string, portal = ""): void => pipeline.push({ kind: "execute", portal, result: resultOf(name) });
    const rows = (count: number): void => {
      for (let index = 0; index < count; index += 1) pipeline.row();
    };

    test("a query has the rows and the tags of all its statements", () => {
      pipeline.push({ kind: "query", settle: () => {}, result: resultOf("a") });
      pipeline.push({ kind: "query", settle: () => {}, result: resultOf("b") });
      answer("T");
      rows(2);
      pipeline.answer("C", { tag: "SELECT 2\0" });
      pipeline.answer("C", { tag: "INSERT 0 3\0" });
      answer("Z");
      answer("T");
      rows(1);
      answer("EZ");
      expect(results).toEqual(["a ok 2 3", "b failed 1  syntax error"]);
    });

    test("each Execute has its own rows; what the server skips is known", () => {
      pipeline.push({ kind: "parse", statement: "", text: "x", result: resultOf("parse") });
      bind("", "");
      executed("a");
      executed("b");
      executed("c");
      push("sync");
      answer("12");
      rows(3);
      pipeline.answer("s");
      rows(1);
      answer("E");
      executed("d");
      answer("Z");
      expect(results).toEqual(["parse ok", "a ok 3", "b failed 1  syntax error", "c skipped"]);
    });

    test("what is sent behind a failure is skipped up to the Sync", () => {
      executed("a");
      answer("E");
      executed("b");
      push("sync");
      executed("c");
      push("sync");
      answer("ZCZ");
      expect(results).toEqual(["a failed   syntax error", "b skipped", "c ok"]);
    });

    test("a failed Bind is the failure of the Execute of its portal", () => {
      bind("p", "s");
      push("describe");
      executed("other", "q");
      executed("a", "p");
      push("sync");
      answer("EZ");
      expect(results).toEqual(["a failed   syntax error", "other skipped"]);
    });

    test("a function call fails like a query", () => {
      pipeline.push({ kind: "function", result: resultOf("f") });
      pipeline.push({ kind: "function", result: resultOf("g") });
      answer("EZZ");
      expect(results).toEqual(["f failed   syntax error", "g ok"]);
    });

    test("where the pipeline is lost nothing is stated, and at the end of the session there is no result", () => {
      executed("a");
      pipeline.close();
      expect(results).toEqual([]);
      pipeline = new Pipeline();
      executed("b");
      answer("1");
      executed("c");
      expect(results).toEqual(["b unknown", "c unknown"]);
    });
  });

  test("any messages and answers settle each query once, at the latest at the end", () => {
    const step = fc.constantFrom(..."qpbsdecf123TnCIsZEGWAN");
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const one = new Pipeline();
        const counts: number[] = [];
        for (const [index, letter] of steps.entries()) {
          if (letter === "q") {
            const at = counts.push(0) - 1;
            const settle = (): void => {
              counts[at] = (counts[at] ?? 0) + 1;
            };
            one.push({ kind: "query", settle });
          } else if (letter === "p") one.push({ kind: "parse", statement: "s", text: String(index) });
          else if (letter === "b") one.push({ kind: "bind", portal: "", text: one.statement("s") });
          else if (letter === "s") one.push({ kind: "sync" });
          else if (letter === "e") one.push({ kind: "execute" });
          else if (letter === "c") one.push({ kind: "copyEnd" });
          else if (letter === "f") one.push({ kind: "close", what: "statement", name: "s" });
          else one.answer(letter, letter === "E" ? { failure } : {});
          one.portal("");
        }
        one.close();
        expect(counts.every((count) => count === 1)).toBe(true);
      }),
    );
  });
});
