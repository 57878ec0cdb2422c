import { expect, test } from "vitest";
import { UserRequests } from "./user-requests.ts";

test("one user's requests of a kind are bounded; another user's, and another kind, are not touched", () => {
  const requests = new UserRequests({ requests: 2 });
  const first = requests.take("ann", "requests");
  requests.take("ann", "requests");
  expect(() => requests.take("ann", "requests")).toThrow(expect.objectContaining({ code: "limit" }));
  requests.take("ann", "streams");
  requests.take("bob", "requests");
  first();
  requests.take("ann", "requests");
});

test("the bytes that are held of one user, and of all, are bounded, and given back", () => {
  const requests = new UserRequests({}, { ofUser: 10, ofAll: 15 });
  {
    using one = requests.holding("ann");
    one.add(6);
    using other = requests.holding("ann");
    other.add(4);
    expect(() => other.add(1)).toThrow(expect.objectContaining({ code: "limit", message: expect.stringContaining("ann") }));
    using bob = requests.holding("bob");
    bob.add(5);
    expect(() => bob.add(1)).toThrow(expect.objectContaining({ code: "limit", message: expect.not.stringContaining("bob") }));
  }
  using ann = requests.holding("ann");
  ann.add(10);
  using bob = requests.holding("bob");
  bob.add(5);
});
