import { z } from "zod";
import { endpoint, named } from "./contract.ts";

export const ConfigurationInfo = named(
  "ConfigurationInfo",
  z.strictObject({
    entries: z.array(z.strictObject({ key: z.string(), value: z.unknown(), origin: z.string() })),
  }),
);
export type ConfigurationInfo = z.infer<typeof ConfigurationInfo>;

export const configuration = {
  show: endpoint("GET /api/configuration", {
    summary: "The effective settings, each with its origin",
    scope: "read",
    output: ConfigurationInfo,
  }),
};
