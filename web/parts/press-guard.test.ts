import { expect, test } from "vitest";
import { followSight, PressGuard, type Sight } from "./press-guard.ts";

/** What becomes of the clicks among these steps, each with its time, ms: `shown 0, down 500, click 590`. */
function answers(steps: string): readonly boolean[] {
  const guard = new PressGuard();
  return steps.split(", ").flatMap((step) => {
    const [what = "", at = ""] = step.split(" ");
    if (what === "click") return [guard.takes(Number(at))];
    if (what === "shown" || what === "hidden") guard.seen(what === "shown", Number(at));
    else guard.pressed(Number(at), what === "held");
    return [];
  });
}

test.for([
  ["a click after half a second answers", "shown 0, down 500, click 590", [true]],
  ["the second click of a double click does not", "shown 0, down 200, click 290", [false]],
  ["a press that began too early does not, however long it lasts", "shown 0, down 490, click 1500", [false]],
  ["a press that began before the page came to the front does not", "down 0, shown 10, click 1500", [false]],
  ["a press during which the page was away does not", "shown 0, down 600, hidden 650, shown 700, click 1500", [false]],
  ["a click on a page that is not in front does not", "shown 0, hidden 600, down 2000, click 2090", [false]],
  ["a click that follows the focus at once does not", "shown 0, hidden 600, shown 5000, down 5001, click 5090", [false]],
  ["a click half a second after the focus answers", "shown 0, hidden 600, shown 5000, down 5500, click 5590", [true]],
  [
    "quick clicks answer nothing until there is a pause",
    "shown 0, down 200, click 250, down 450, click 500, down 700, click 750, down 1250, click 1300",
    [false, false, false, true],
  ],
  ["a click without a press, as screen readers make it, answers after half a second", "shown 0, click 499, click 999", [false, true]],
  ["a key that was held before answers nothing", "shown 0, held 700, click 700, held 1300, click 1300", [false, false]],
  ["a key that goes down in time answers, also held", "shown 0, down 600, held 1100, held 1130, click 1200", [true]],
  ["a key that goes down too early answers nothing when it is held", "shown 0, down 100, held 700, click 900", [false]],
  ["nothing counts before the page is seen", "down 900, click 1000", [false]],
] as const)("%s", ([, steps, expected]) => {
  expect(answers(steps)).toEqual(expected);
});

class TestPage extends EventTarget {
  visibilityState: DocumentVisibilityState = "visible";
  isFocused = true;
  hasFocus(): boolean {
    return this.isFocused;
  }
}

class TestWindow extends EventTarget implements Sight {
  readonly document = new TestPage();
}

test("a question is in front while its page can be seen and has the focus", () => {
  const [view, seen] = [new TestWindow(), [] as (readonly [boolean, number])[]];
  let now = 1;
  const stop = followSight({ seen: (isInFront, at) => void seen.push([isInFront, at]) }, view, () => now++);
  view.document.isFocused = false;
  view.dispatchEvent(new Event("blur"));
  view.document.visibilityState = "hidden";
  view.document.dispatchEvent(new Event("visibilitychange"));
  view.document.visibilityState = "visible";
  view.document.dispatchEvent(new Event("visibilitychange"));
  view.document.isFocused = true;
  view.dispatchEvent(new Event("focus"));
  expect(seen).toEqual([true, false, false, false, true].map((isInFront, at) => [isInFront, at + 1]));
  stop();
  view.dispatchEvent(new Event("focus"));
  expect(seen).toHaveLength(5);
});
