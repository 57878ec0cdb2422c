import { expect, test } from "vitest";
import { type BesideState, editOf, isAskedAgain, isRead, withAnswer, withEdit } from "./beside-state.ts";

interface Preview {
  readonly yaml: string;
  readonly roles: readonly string[];
}
type State = BesideState<readonly string[], Preview>;

const first: Preview = { yaml: "roles: [dev, ops]", roles: ["dev", "ops"] };
const read: State = { read: { yaml: first.yaml, preview: first } };

test("a form edits only the text that it shows, never one that was typed since", () => {
  const typed = "roles: [dev]";
  expect(isRead({}, typed)).toBe(false);
  expect(isRead(read, typed)).toBe(false);
  expect(withEdit(read, { yaml: typed, document: ["dev", "ops", "web"] })).toBe(read);
  const { state, yaml } = withAnswer(read, { asked: { yaml: typed, document: undefined }, yaml: typed, preview: { yaml: typed, roles: ["dev"] } });
  expect(yaml).toBe(typed);
  expect(isRead(state, typed)).toBe(true);
  expect(editOf(withEdit(state, { yaml: typed, document: ["dev", "web"] }), typed)).toEqual(["dev", "web"]);
});

test("an edit in the form becomes the text, and nothing is left to ask", () => {
  const document = ["dev"];
  const edited = withEdit(read, { yaml: first.yaml, document });
  const preview: Preview = { yaml: "roles:\n- dev", roles: document };
  const after = withAnswer(edited, { asked: { yaml: first.yaml, document }, yaml: first.yaml, preview });
  expect(after.yaml).toBe(preview.yaml);
  expect(isRead(after.state, preview.yaml)).toBe(true);
  expect(editOf(after.state, preview.yaml)).toBeUndefined();
});

test("text that is typed after an edit in the form stays, whichever comes first: the answer to the edit or to the text", () => {
  const document = ["dev"];
  const edited = withEdit(read, { yaml: first.yaml, document });
  const typed = "roles: [";
  expect(editOf(edited, typed)).toBeUndefined();
  const late = withAnswer(edited, { asked: { yaml: first.yaml, document }, yaml: typed, preview: { yaml: "roles: [dev]", roles: document } });
  expect(late).toEqual({ state: edited, yaml: typed });
  const whole = "roles: [ops]";
  const after = withAnswer(edited, { asked: { yaml: whole, document: undefined }, yaml: whole, preview: { yaml: whole, roles: ["ops"] } });
  expect(editOf(after.state, whole)).toBeUndefined();
  // Not either when the text is once again what it was.
  expect(editOf(after.state, first.yaml)).toBeUndefined();
});

test("a second edit during the question about the first one is not lost", () => {
  const one = ["dev"];
  const two = ["dev", "web"];
  const asked = { yaml: first.yaml, document: one };
  const edited = withEdit(withEdit(read, { yaml: first.yaml, document: one }), { yaml: first.yaml, document: two });
  const { state, yaml } = withAnswer(edited, { asked, yaml: first.yaml, preview: { yaml: "roles:\n- dev", roles: one } });
  expect(yaml).toBe("roles:\n- dev");
  expect(editOf(state, yaml)).toBe(two);
});

test.for([
  ["unavailable", true],
  ["timeout", true],
  ["invalid", false],
  ["denied", false],
  [undefined, false],
] as const)("a question that failed with %s is asked again: %s", ([code, isAgain]) => {
  expect(isAskedAgain(code)).toBe(isAgain);
});
