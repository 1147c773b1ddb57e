import { z } from "zod";
import { namedObject, objects, read } from "./contract.ts";

export const ConfigurationState = namedObject("ConfigurationState", {
  /** Why changed files are not used. The last good configuration is in effect, with every deny and ask rule of the files. */
  problems: z.array(z.string()),
  /** Settings that were changed and take effect after a restart. */
  restartNeeded: z.array(z.string()),
});
export type ConfigurationState = z.infer<typeof ConfigurationState>;

export const ConfigurationInfo = namedObject("ConfigurationInfo", {
  entries: objects({
    key: z.string(),
    value: z.unknown(),
    origin: z.string(),
    /** `live`: a change takes effect within two seconds. `restart`: it takes effect after a restart. */
    binding: z.enum(["live", "restart"]),
    /** It was changed, and takes effect after a restart. */
    isPending: z.boolean(),
  }),
  state: ConfigurationState,
  /** How many settings have no effect because nobody has trusted them. */
  untrusted: z.string().optional(),
});
export type ConfigurationInfo = z.infer<typeof ConfigurationInfo>;

export const configuration = {
  show: read("GET /api/configuration", {
    summary: "The effective settings, each with its origin",
    output: ConfigurationInfo,
  }),
};
