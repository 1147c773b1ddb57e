import { z } from "zod";

/** Parameters that both tools have. */
export const WALK_PARAMETERS = {
  hidden: z.boolean().default(true).describe("Also files and folders whose names begin with a dot (never .git)"),
  respect_gitignore: z.boolean().default(true).describe("Leave out what .gitignore files leave out"),
};

const MAX_RESULTS = 1_000;

export const limitOf = (what: string) =>
  z.number().int().min(1).max(MAX_RESULTS).default(100).describe(`At most this many ${what}`);

/** Only text can be given to another program. */
export const patternOf = (description: string) =>
  z
    .string()
    .min(1)
    .refine((pattern) => !pattern.includes("\0"), "must not contain a NUL character")
    .describe(description);
