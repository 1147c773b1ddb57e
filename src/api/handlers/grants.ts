import { type Grant, fromMicros } from "../../calls/grants.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { notFound } from "../../contracts/errors.ts";
import type { GrantInfo, grants as contract } from "../../contracts/grants.ts";
import type { Haft } from "../../runtime.ts";

const DEFAULT_LIMIT = 100;

export function createGrantsApi({ policy: { grants } }: Pick<Haft, "policy">): Handlers<typeof contract> {
  const describe = (grant: Grant): GrantInfo => {
    const { id, holder, rules, tools, until, maxUses, used, unknown, why, by, via, createdAt } = grant;
    const { budget, spent, endedAt, endedBy } = grant;
    return {
      id,
      state: grants.stateOf(grant),
      holder,
      rules: [...rules],
      tools: Object.keys(tools),
      until,
      maxUses,
      budget: budget && { unit: budget.unit, max: fromMicros(budget.max) },
      used,
      spent: fromMicros(spent),
      unknown,
      usesLeft: maxUses === undefined ? undefined : Math.max(0, maxUses - used),
      budgetLeft: budget && fromMicros(Math.max(0, budget.max - spent)),
      why,
      by,
      via,
      createdAt,
      endedAt,
      endedBy,
    };
  };
  const find = async (id: string): Promise<Grant> => {
    const grant = await grants.get(id);
    if (grant) return grant;
    throw notFound("There is no such grant", "grants");
  };
  return {
    async list({ query: { state = "open", limit = DEFAULT_LIMIT } }) {
      return { items: (await grants.list({ isOpen: state === "open", max: limit })).map(describe) };
    },
    get: async ({ params }) => describe(await find(params.id)),
    extend: async ({ params, body, identity }) =>
      describe(await grants.extend((await find(params.id)).id, body, identity.name)),
    revoke: async ({ params, identity }) => describe(await grants.revoke((await find(params.id)).id, identity.name)),
    refund: async ({ params, body, identity }) =>
      describe(await grants.giveBack((await find(params.id)).id, body.callId, identity.name)),
  };
}
