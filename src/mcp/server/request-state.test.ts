import { expect, test } from "vitest";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { createRequestStates } from "./request-state.ts";

const BINDING = { owner: "ada", method: "tools/call", params: ["send", { text: "hello", to: "bob" }] };

function create() {
  const clock = createFakeClock();
  const states = createRequestStates(clock);
  const state = { id: "call", question: "apr_1", until: clock.now() + 1000 };
  return { clock, states, state, sealed: states.seal(state, BINDING) };
}

test("a state opens only with its binding, in any order of parameters", () => {
  const { states, state, sealed } = create();
  expect(states.open(sealed, BINDING)).toMatchObject(state);
  const reordered = { ...BINDING, params: ["send", { to: "bob", text: "hello" }] };
  expect(states.open(sealed, reordered)).toMatchObject(state);
});

test.each([
  ["owner", { owner: "bob" }],
  ["method", { method: "prompts/get" }],
  ["tool", { params: ["delete", { text: "hello", to: "bob" }] }],
  ["arguments", { params: ["send", { text: "hello", to: "eve" }] }],
])("it does not open for another %s", (_what, change) => {
  const { states, sealed } = create();
  expect(states.open(sealed, { ...BINDING, ...change })).toBeUndefined();
});

test("no character of it can be changed, removed or added", () => {
  const { states, sealed } = create();
  for (let at = 0; at < sealed.length; at++) {
    const other = sealed[at] === "A" ? "B" : "A";
    const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
    expect(states.open(changed, BINDING), `changed at ${at}`).toBeUndefined();
    expect(states.open(sealed.slice(0, at) + sealed.slice(at + 1), BINDING), `without ${at}`).toBeUndefined();
  }
  for (const more of [`${sealed}=`, `${sealed}.`, ` ${sealed}`, `${sealed}A`])
    expect(states.open(more, BINDING)).toBeUndefined();
});

test("it expires, and is invalid for a server with another key", async () => {
  const { clock, states, sealed } = create();
  expect(createRequestStates(clock).open(sealed, BINDING)).toBeUndefined();
  await clock.advance(1000);
  expect(states.open(sealed, BINDING)).toBeUndefined();
});

test("two states of one question differ", () => {
  const { states, state, sealed } = create();
  expect(states.seal(state, BINDING)).not.toBe(sealed);
});

test("a short key is rejected", () => {
  expect(() => createRequestStates(createFakeClock(), new Uint8Array(16))).toThrow(/32 bytes/);
});
