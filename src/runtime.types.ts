// Checked by the compiler, never run: a call by the tool itself is typed by the tool.
import { z } from "zod";
import type { ToolContext } from "./core/tool.ts";
import { createTool } from "./core/create-tool.ts";
import { createHaft } from "./runtime.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function expectType<T extends true>(): T | undefined {
  return undefined;
}

const add = createTool({
  name: "add",
  description: "Adds",
  parameters: z.object({ a: z.number(), b: z.number().default(1) }),
  output: z.object({ sum: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
});
const ping = createTool({ name: "ping", description: "Answers", parameters: z.object({}), run: () => "pong" });

async function calls(context: ToolContext): Promise<void> {
  const haft = createHaft();
  const typed = await haft.execute(add, { a: 1 });
  if (typed.status === "completed") {
    expectType<Equal<typeof typed.details, { sum: number }>>();
  }
  await haft.execute(ping);
  await haft.execute(ping, {}, { id: "1" });
  await haft.tools.toolkit("agent").execute(add, { a: 1 }, { mode: "plan" });
  await context.call(add, { a: 1 }, { step: 1 });
  const byName = await haft.execute("add", { anything: true });
  expectType<Equal<typeof byName.details, unknown>>();

  // @ts-expect-error the input is required
  await haft.execute(add);
  // @ts-expect-error the input has another type
  await haft.execute(add, { a: "1" });
  // @ts-expect-error an unknown option
  await haft.execute(add, { a: 1 }, { modus: "plan" });
  // @ts-expect-error the input of a nested call is checked too
  await context.call(add, { b: 1 });
  // @ts-expect-error there is one way to run a call
  void haft.executor;
}
void calls;
