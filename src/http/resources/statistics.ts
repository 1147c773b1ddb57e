import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import { createTokenReport } from "../report-tokens.ts";
import { json, type Resource, route } from "../route.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export const statistics: Resource<ApiContext> = {
  path: "/api/statistics",
  routes({ haft, parts, numbers, clock }) {
    const reportTokens = createTokenReport(haft);
    const show = (from: number, to: number, buckets: number) => {
      if (from >= to) throw new HttpError("bad_request", '"from" must be before "to"');
      const requested = { from, to, buckets };
      return parts.statistics?.show(requested) ?? numbers.show(requested, haft.getStats().callStats);
    };
    return [
      route("GET /api/statistics", {
        summary: "Calls, failures, denials and durations, by tool and over time",
        scope: "read",
        query: [
          { name: "from", summary: "Unix milliseconds; an hour ago where absent", type: "integer" },
          { name: "to", summary: "Unix milliseconds; now where absent", type: "integer" },
          { name: "buckets", summary: "How many, up to 500", type: "integer" },
        ],
        answers: "StatisticsInfo",
        async handle({ query }) {
          const to = query.number("to") ?? clock.now();
          const from = query.number("from") ?? to - HOUR;
          return json(await show(from, to, query.number("buckets", { min: 1, max: 500 }) ?? 60));
        },
      }),
      route("GET /api/statistics/tokens", {
        summary: "What each tool costs a model's context: its definition, and what it returned",
        scope: "read",
        query: [
          { name: "from", summary: "Unix milliseconds; a day ago where absent", type: "integer" },
          { name: "to", summary: "Unix milliseconds; now where absent", type: "integer" },
        ],
        answers: "TokenReport",
        async handle({ query, identity }) {
          const to = query.number("to") ?? clock.now();
          const from = query.number("from") ?? to - DAY;
          return json(await reportTokens(await show(from, to, 1), { user: identity.name }));
        },
      }),
    ];
  },
};
