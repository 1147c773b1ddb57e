import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import { HEADERS_PARAMETER, HTTP_PARAMETER_ALIASES, URL_PARAMETER } from "./http-parameters.ts";
import { type HttpDependencies, sendRequest } from "./send-request.ts";

export function createHttpGetTool(dependencies: HttpDependencies) {
  return createTool({
    name: "http_get",
    title: "HTTP GET",
    description: {
      short: "Asks a URL with GET and gives status, headers and body.",
      long: "For APIs and raw answers. To read a web page, use web_fetch, which gives its text as Markdown.",
      usageNotes: [
        "An error status is an answer like others. Redirects to other hosts are told, not followed.",
        "Binary bodies come as base64, large ones as a file.",
      ],
      examples: [{ input: { url: "https://api.example.com/items", headers: { Accept: "application/json" } } }],
    },
    parameters: z.object({ url: URL_PARAMETER, headers: HEADERS_PARAMETER }),
    parameterAliases: HTTP_PARAMETER_ALIASES,
    kind: "readonly",
    category: ToolCategory.NETWORK,
    tags: ["http", "api", "request", "download"],
    // What is asked for can carry something out as well: in the path, the query, a header.
    labels: ["untrusted_input", "outside_effect"],
    origin: { type: "builtin" },
    signature: ({ url }) => ({ text: `GET ${url}`, urls: [url] }),
    run: (input, context) => sendRequest(dependencies, { method: "GET", ...input }, context),
  });
}
