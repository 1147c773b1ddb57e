import type { Middleware, Stage } from "../core/stage.ts";

/** A host's stages stand after the built-in one that they name; several at one place in the order given. */
export function placeMiddleware(stages: readonly Stage[], middleware: readonly Middleware[]): Stage[] {
  for (const { name, after } of middleware) {
    if (!stages.some((stage) => stage.name === after)) {
      throw new TypeError(
        `Middleware "${name}" wants to stand after "${after}", but the places are: ${stages.map((stage) => stage.name).join(", ")}.`,
      );
    }
  }
  return stages.flatMap((stage) => [stage, ...middleware.filter(({ after }) => after === stage.name)]);
}
