import { describe, expect, test } from "vitest";
import { CloseStack } from "./close-stack.ts";

function openStack(options?: ConstructorParameters<typeof CloseStack>[0]) {
  const stack = new CloseStack(options);
  const closed: string[] = [];
  const push = (name: string, failure?: Error): void =>
    stack.push(name, async () => {
      closed.push(name);
      if (failure) throw failure;
    });
  return { stack, closed, push };
}

describe("a close stack", () => {
  test("closes in reverse order", async () => {
    const { stack, closed, push } = openStack();
    for (const name of ["store", "runtime", "server"]) push(name);
    await stack.close();
    expect(closed).toEqual(["server", "runtime", "store"]);
  });

  test("tries every step and rejects with the first failure", async () => {
    const { stack, closed, push } = openStack();
    push("store", new Error("store"));
    push("runtime");
    push("server", new Error("server"));
    await expect(stack.close()).rejects.toThrow("server");
    expect(closed).toEqual(["server", "runtime", "store"]);
  });

  test("tries the steps after one that throws synchronously", async () => {
    const { stack, closed, push } = openStack();
    push("store");
    stack.push("server", () => {
      throw new Error("server");
    });
    await expect(stack.close()).rejects.toThrow("server");
    expect(closed).toEqual(["store"]);
  });

  test("runs each step once, also if it is closed twice at the same time", async () => {
    const { stack, closed, push } = openStack();
    push("store");
    await Promise.all([stack.close(), stack.close()]);
    await stack.close();
    expect(closed).toEqual(["store"]);
  });

  test("closes steps that were pushed while it was closing", async () => {
    const { stack, closed, push } = openStack();
    stack.push("runtime", () => push("late"));
    await stack.close();
    expect(closed).toEqual(["late"]);
  });

  test("abandons a step that never ends, and names it", async () => {
    const { stack, closed, push } = openStack({ maxStepMs: 5 });
    push("store");
    stack.push("browser", () => new Promise(() => undefined));
    await expect(stack.close()).rejects.toThrow("Closing browser took longer than 5 ms");
    expect(closed).toEqual(["store"]);
  });
});
