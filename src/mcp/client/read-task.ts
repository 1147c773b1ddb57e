import type { StandardSchemaV1 } from "@modelcontextprotocol/client";
import type { DetailedTask } from "../task.ts";

/** What a server says of a task, or that it has heard. What is missing in it is treated as not there. */
export const anyTask: StandardSchemaV1<unknown, DetailedTask> = {
  "~standard": {
    version: 1,
    vendor: "haft",
    validate(value) {
      if (typeof value === "object" && value !== null) return { value: value as DetailedTask };
      return { issues: [{ message: "a task must be an object" }] };
    },
  },
};
