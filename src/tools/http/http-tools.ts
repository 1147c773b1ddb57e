import type { AnyTool } from "../../core/tool.ts";
import { createHttpGetTool } from "./http-get.ts";
import { createHttpPostTool } from "./http-post.ts";
import { createHttpRequestTool } from "./http-request.ts";
import type { HttpDependencies } from "./send-request.ts";

/** The tools that speak plain HTTP, through the guarded fetch that they are given. */
export function createHttpTools(dependencies: HttpDependencies): AnyTool[] {
  return [createHttpGetTool(dependencies), createHttpPostTool(dependencies), createHttpRequestTool(dependencies)];
}
