import type { Door } from "../door.ts";
import { DoorError } from "../door-error.ts";
import { json, type Resource, route } from "../route.ts";

const HOUR = 3_600_000;

export const statistics: Resource<Door> = {
  path: "/api/statistics",
  routes: ({ haft, parts, numbers, clock }) => [
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
        const buckets = query.number("buckets", { least: 1, most: 500 }) ?? 60;
        if (from >= to) throw new DoorError("bad_request", '"from" must be before "to"');
        const asked = { from, to, buckets };
        return json(await (parts.statistics?.show(asked) ?? numbers.show(asked, haft.getStats().callStats)));
      },
    }),
  ],
};
