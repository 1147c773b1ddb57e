import { type ReactNode, useState } from "react";
import type { ApiClient } from "../../../src/contracts/index.ts";
import { queries } from "../api.ts";
import { Failure } from "./failure.tsx";

/**
 * Requests that a person starts: `act(request, done)`. The element says why the last one failed. Afterwards everything of
 * the resource is read again.
 */
export function useAction(
  resource?: keyof ApiClient,
): [failure: ReactNode, act: <T>(request: Promise<T>, done?: (output: T) => void) => void] {
  const [problem, setProblem] = useState<Error>();
  const failure = problem ? <Failure error={problem} /> : null;
  const act = <T,>(request: Promise<T>, done?: (output: T) => void): void => {
    setProblem(undefined);
    request
      .then(done)
      .catch(setProblem)
      .finally(() => resource && void queries.invalidateQueries({ queryKey: [resource] }));
  };
  return [failure, act];
}
