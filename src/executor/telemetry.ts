import type { Stage } from "../core/stage.ts";
export function telemetry(): Stage {
  return { name: "telemetry" };
}
