import type { StandardSchemaV1 } from "@modelcontextprotocol/server";

export interface TaskParameters {
  taskId: string;
  inputResponses?: Record<string, unknown>;
}

/** Of every request about a task. */
export const taskParameters: StandardSchemaV1<unknown, TaskParameters> = {
  "~standard": {
    version: 1,
    vendor: "haft",
    validate(value) {
      const { taskId, inputResponses } = (value ?? {}) as Partial<Record<keyof TaskParameters, unknown>>;
      if (typeof taskId !== "string") return { issues: [{ message: "taskId must be a string", path: ["taskId"] }] };
      const isGiven = typeof inputResponses === "object" && inputResponses !== null;
      return { value: { taskId, ...(isGiven ? { inputResponses: inputResponses as Record<string, unknown> } : {}) } };
    },
  },
};
