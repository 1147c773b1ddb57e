import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { api, queries } from "../../api.ts";
import { replaceAddress } from "../../hash-location.ts";

/** The browser returned from the sign-in page of an MCP server: send the result to our server and remove it from the address. */
export function useFinishedSignIn(): Error | undefined {
  const [, go] = useLocation();
  const [problem, setProblem] = useState<Error>();
  // Read before a redirect to the first page removes it.
  const [search] = useState(() => location.search);
  useEffect(() => {
    const brought = new URLSearchParams(search);
    if (!brought.has("state") || !(brought.has("code") || brought.has("error"))) return;
    replaceAddress("#/mcp");
    api.mcp
      .finishSignIn({ callback: search })
      .catch(setProblem)
      .finally(() => {
        go("/mcp", { replace: true });
        void queries.invalidateQueries({ queryKey: ["mcp"] });
      });
  }, [go, search]);
  return problem;
}
