import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import { BODY_PARAMETER, HEADERS_PARAMETER, HTTP_PARAMETER_ALIASES, URL_PARAMETER } from "./http-parameters.ts";
import { type HttpDependencies, previewRequest, sendRequest } from "./send-request.ts";

const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;
const READING: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

export function createHttpRequestTool(dependencies: HttpDependencies) {
  return createTool({
    name: "http_request",
    title: "HTTP request",
    description: {
      short: "Sends a request of any method to a URL and gives status, headers and body of the answer.",
      usageNotes: [
        "GET, HEAD and OPTIONS have no body. An error status is an answer like others.",
        "Redirects to other hosts are told, not followed.",
      ],
      examples: [{ input: { method: "DELETE", url: "https://api.example.com/items/7" } }],
    },
    parameters: z.object({
      method: z
        .string()
        .transform((method) => method.trim().toUpperCase())
        .pipe(z.enum(METHODS))
        .describe(METHODS.join(", ")),
      url: URL_PARAMETER,
      body: BODY_PARAMETER,
      headers: HEADERS_PARAMETER,
    }),
    parameterAliases: HTTP_PARAMETER_ALIASES,
    kind: "execute",
    category: ToolCategory.NETWORK,
    tags: ["http", "api", "request", "rest"],
    labels: ["untrusted_input", "outside_effect"],
    permission: ({ method }) => (READING.has(method) ? "auto" : "confirm"),
    origin: { type: "builtin" },
    signature: ({ method, url }) => ({ text: `${method} ${url}`, urls: [url] }),
    preview: async (input) => previewRequest(input),
    run: (input, context) => sendRequest(dependencies, input, context),
  });
}
