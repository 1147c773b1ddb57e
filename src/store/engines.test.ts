import { describe } from "vitest";
import { ENGINES, useEngine } from "./engines.fixture.ts";
import { ENGINE_SUITES } from "./engines.suite.ts";

describe.each(ENGINES)("$name", (engine) => {
  const underTest = useEngine(engine);
  for (const run of Object.values(ENGINE_SUITES)) run(underTest);
});
