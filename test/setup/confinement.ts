import { machineEngines } from "../../src/io/sandbox/self-test.ts";
import { canRun } from "./requirements.ts";

const { look, tests } = machineEngines();

/** Whether this machine confines commands. Without that, every command asks. */
export const canConfine = canRun(
  "sandbox",
  look ? undefined : `Commands cannot be confined here: ${JSON.stringify(tests)}.`,
);
