import { createChain, createHaft, createTool, textOf } from "haft";

/** The dialect of the tour: its names are Read, Edit, Write, Glob, Grep and Bash. */
const DIALECT = "claude";

/** The name of a tool in the dialect. Its other names work as well. */
export function shownName(tool) {
  return tool.getFunctionDeclaration(DIALECT).name;
}

function firstOf(tools) {
  return required(tools[0]);
}

function required(value) {
  if (value === undefined) throw new Error("The example of the tour is incomplete.");
  return value;
}

function shownNames(tools) {
  return tools.map(shownName).join(", ");
}

export const registerTools = {
  title: ["Create a tool registry and register the built-in tools", "创建工具注册表并注册内置工具"],
  async run({ haft, example, page }) {
    const received = [];
    const unsubscribe = haft.tools.registry.on("tool_registered", ({ toolName }) => received.push(toolName));
    const registered = haft.tools.registry.registerMany(example.tools);
    unsubscribe();
    const fromServers = haft.tools.registry.list().filter(({ origin }) => origin.type === "mcp");
    const builtIn = registered.filter(({ origin }) => origin.type === "builtin");
    page.print([`Registered ${registered.length} tools`, `已注册 ${registered.length} 个工具`], shownNames(registered));
    page.print(["Built in", "内置工具"], String(builtIn.length));
    page.print(["MCP tools", "MCP 工具"], String(fromServers.length));
    page.check(
      ["Events", "事件"],
      received.join() === example.tools.map(({ name }) => name).join(),
      ["one for each tool", "每个工具各一个"],
      received.join(", "),
    );
    page.check(["Same name again", "重复注册"], isRefused(), ["refused", "正确拒绝"]);

    function isRefused() {
      try {
        haft.register(firstOf(example.tools));
        return false;
      } catch (error) {
        return error instanceof TypeError && error.message.includes("already registered");
      }
    }
  },
};

export const getTools = {
  title: ["Get a tool by its name", "按名称获取工具"],
  async run({ haft, example, page }) {
    const first = firstOf(example.tools);
    const name = shownName(first);
    const found = haft.tools.registry.get(name);
    page.check(["By name", "按名称"], found === first, [name, name], found?.name ?? "undefined");
    const others = [first.name, ...first.aliases].filter((other) => other !== name).join(", ");
    page.check(
      ["By its other names", "按其他名称"],
      others.split(", ").every((other) => haft.tools.registry.get(other) === first),
      [`the same tool: ${others}`, `同一个工具：${others}`],
    );
    page.check(
      ["Unknown name", "未知名称"],
      !haft.tools.registry.has("no_such_tool") && haft.tools.registry.get("no_such_tool") === undefined,
      ["not found", "不存在"],
    );
  },
};

export const filterTools = {
  title: ["Filter read-only and changing tools", "测试只读/写入工具过滤"],
  async run({ haft, example, page }) {
    const readOnly = shownNames(haft.tools.registry.list({ isReadOnly: true }));
    const changing = shownNames(haft.tools.registry.list({ isReadOnly: false }));
    page.check(["Read-only", "只读工具"], readOnly === example.readOnly.join(", "), [readOnly, readOnly], readOnly);
    page.check(["Changing", "写入工具"], changing === example.changing.join(", "), [changing, changing], changing);
  },
};

export const planMode = {
  title: ["Plan mode: read-only tools only", "Plan 模式：只有只读工具"],
  async run({ haft, example, page }) {
    const shown = haft.tools.definitions({ mode: "plan", dialect: DIALECT }).map(({ name }) => name);
    const all = haft.tools.definitions({ dialect: DIALECT });
    page.check(
      ["Shown to the model", "模型可见"],
      shown.join() === example.readOnly.join() && all.length === example.tools.length,
      [`${shown.length} of ${all.length} tools`, `${all.length} 个中的 ${shown.length} 个`],
      shown.join(", "),
    );
    const { tool, input, happened } = example.denied;
    const refused = await haft.execute(tool, input, { mode: "plan" });
    page.check(
      ["Calling another", "调用其他工具"],
      refused.status === "failed" && refused.error.code === "plan_mode" && !happened(),
      ["refused, has not run", "正确拒绝，没有执行"],
      refused.display,
    );
  },
};

export const findTools = {
  title: ["Find tools by category, tag and words", "按分类、标签和关键词查找"],
  async run({ haft, example, page }) {
    const { category, tag, query, finds } = example.search;
    const [english, chinese] = category;
    const inCategory = haft.tools.registry.list({ category: english });
    const tagged = haft.tools.registry.list({ tag });
    const [best] = haft.tools.registry.search(query);
    page.check(
      [`Category ${english}`, `分类 ${chinese}`],
      inCategory.length > 0 && shownNames(inCategory) === shownNames(haft.tools.registry.list({ category: chinese })),
      [shownNames(inCategory), shownNames(inCategory)],
      shownNames(inCategory),
    );
    page.check(
      [`Tag ${tag}`, `标签 ${tag}`],
      tagged.length > 0 && tagged.every(({ tags }) => tags.includes(tag)),
      [shownNames(tagged), shownNames(tagged)],
      shownNames(tagged),
    );
    const name = best ? shownName(best) : "-";
    page.check([`Search "${query}"`, `搜索 "${query}"`], name === finds, [finds, finds], name);
  },
};

/** A step for one tool: its calls, made one after the other. */
export function playTool({ tool, calls }) {
  return {
    title: [`Execute ${tool}`, `测试 ${tool} 工具`],
    async run({ haft, page }) {
      for (const { label, input, holds, outcome, prints } of calls) {
        const result = await haft.execute(tool, input);
        page.check(label, holds(result), outcome, `${result.status}: ${result.display}`);
        if (prints) page.print(prints, textOf(result.content));
      }
    },
  };
}

export const mcpTools = {
  title: ["Register and unregister an MCP tool", "测试 MCP 工具注册"],
  async run({ haft, example, page }) {
    const taken = shownName(firstOf(example.tools));
    haft.tools.registry.register(toolOfServer("list_issues"));
    const called = await haft.execute("list_issues", { project: "haft" });
    page.check(
      ["MCP tool registered", "MCP 工具注册"],
      called.success && JSON.stringify(called.details) === '["haft#1"]',
      ["answers through the same gate", "经过同一道关卡"],
      called.display,
    );
    page.check([`Calling itself ${taken}`, `冒用名称 ${taken}`], isRefused(), ["refused", "正确拒绝"]);
    const removed = haft.tools.registry.unregister("list_issues");
    page.check(["After unregistering", "注销后"], removed && !haft.tools.registry.has("list_issues"), [
      "removed",
      "已移除",
    ]);

    function isRefused() {
      try {
        haft.tools.registry.register(toolOfServer(taken));
        return false;
      } catch (error) {
        return error instanceof TypeError && haft.tools.registry.get(taken) === example.tools[0];
      }
    }
  },
};

/** A tool with JSON Schema, as servers describe their tools. */
function toolOfServer(name) {
  return createTool({
    name,
    description: "List the issues of a project",
    kind: "readonly",
    category: "mcp",
    origin: { type: "mcp", server: "tracker" },
    inputSchema: {
      type: "object",
      properties: { project: { type: "string", description: "Whose issues" } },
      required: ["project"],
    },
    execute: ({ project }) => [`${project}#1`],
  });
}

export const buildCall = {
  title: ["Build a call, execute it later", "build 方法：先构建，后执行"],
  async run({ haft, example, page }) {
    const { tool: name, input, misspelt } = example.call;
    const tool = required(haft.tools.registry.get(name));
    const before = (await haft.calls.log.recent()).length;
    const invocation = tool.build(input);
    page.check(["Built", "已构建"], invocation.tool === tool && (await haft.calls.log.recent()).length === before, [
      "validated, has not run",
      "已验证，未执行",
    ]);
    const result = await invocation.execute();
    page.check(
      ["Executed", "已执行"],
      result.success && (await haft.calls.log.recent()).length === before + 1,
      ["success, and in the log", "成功，并已记录"],
      result.display,
    );
    page.check(["Bad input", "错误参数"], isRefused(), ["refused at once", "立即拒绝"]);

    function isRefused() {
      try {
        tool.build(misspelt);
        return false;
      } catch (error) {
        return error.code === "invalid_input";
      }
    }
  },
};

export const refuseInput = {
  title: ["Validate: the error, and what was meant", "参数验证：错在哪里，本意是什么"],
  async run({ haft, example, page }) {
    const { tool, misspelt, near } = example.call;
    const refused = await haft.execute(tool, misspelt);
    page.check(
      ["Misspelt parameter", "参数名写错"],
      refused.status === "failed" && refused.error.code === "invalid_input" && textOf(refused.content).includes(near),
      [`refused, offers "${near}"`, `正确拒绝，提示 "${near}"`],
      refused.display,
    );
    const { requested, near: nearName } = example.wrongName;
    const unknown = await haft.execute(requested, {});
    page.check(
      ["Misspelt tool", "工具名写错"],
      unknown.status === "failed" && unknown.error.code === "tool_not_found" && unknown.error.next?.includes(nearName),
      [`refused, offers "${nearName}"`, `正确拒绝，提示 "${nearName}"`],
      unknown.display,
    );
    const repaired = await haft.execute(tool, JSON.stringify(JSON.stringify(example.call.input)));
    page.check(
      ["JSON encoded twice", "JSON 重复编码"],
      repaired.success && (repaired.metadata.repairs?.length ?? 0) > 0,
      ["repaired, with a note", "已修复，并注明"],
      repaired.display,
    );
  },
};

export const denyTool = {
  title: ["Policy: a denied tool does not exist", "策略：被拒绝的工具等于不存在"],
  async run({ example, page }) {
    const { tool: name, input, happened } = example.denied;
    const guarded = createHaft({ tools: example.tools, policy: { deny: [name] } });
    const refused = await guarded.execute(name, input);
    page.check(
      ["Called anyway", "强行调用"],
      refused.status === "failed" && refused.error.code === "denied" && !happened(),
      ["refused, has not run", "正确拒绝，没有执行"],
      refused.display,
    );
    const shown = guarded.tools.definitions({ dialect: DIALECT });
    page.check(
      ["Shown to the model", "模型可见"],
      shown.length === example.tools.length - 1 && !shown.some((tool) => tool.name === name),
      [`all but ${name}`, `除 ${name} 以外`],
    );
    const log = await guarded.calls.log.recent();
    page.check(["Log", "日志"], log.length === 1 && log[0]?.errorCode === "denied", [
      "the refused call is in it",
      "被拒绝的调用也有记录",
    ]);
  },
};

export const askFirst = {
  title: ["Ask a person first", "先征求用户确认"],
  async run({ example, page }) {
    const { tool, approved: first, denied: second, shows, happened } = example.requested;
    // Without an approver the question stays open.
    const haft = createHaft({ tools: example.tools });
    const requested = await haft.execute(tool, first);
    page.check(
      [`${tool} called`, `调用 ${tool}`],
      requested.status === "pending" && !happened(first),
      ["pending, has not run", "等待确认，尚未执行"],
      requested.status,
    );
    const [question] = await haft.approvals.list("pending");
    const preview = textOf(question?.preview?.content ?? []);
    page.check(
      ["Question", "请求"],
      preview.includes(shows),
      [`shows what will change: ${shows}`, `显示将要发生的改动：${shows}`],
      preview,
    );
    const approved = await haft.approvals.approve(required(question).id, "tour");
    page.check(["Approved", "同意后"], approved.success && happened(first), ["ran once", "执行一次"], approved.display);
    await haft.execute(tool, second);
    const denied = await haft.approvals.deny(required((await haft.approvals.list("pending"))[0]).id, "not today");
    page.check(
      ["Denied", "拒绝后"],
      denied.status === "failed" && denied.error.code === "approval_denied" && !happened(second),
      ["never ran", "没有执行"],
      denied.display,
    );
  },
};

const PARTS = ["oak", "ash", "elm", "yew"];

export const streamProgress = {
  title: ["Stream: progress while a tool runs, and stop it", "流式输出：执行中报告进度，并可中断"],
  async run({ haft, example, page }) {
    const seen = [];
    haft.register({
      name: "count_trees",
      description: "Count the trees, one kind after the other",
      kind: "readonly",
      inputSchema: [],
      async *execute() {
        for (const [index, part] of PARTS.entries()) {
          yield { progress: { done: index + 1, total: PARTS.length, message: part } };
        }
        return { kinds: PARTS.length };
      },
    });
    const result = await haft.execute(
      "count_trees",
      {},
      {
        onUpdate: ({ progress }) => {
          if (progress) seen.push(`${progress.message} ${progress.done}/${progress.total}`);
        },
      },
    );
    const expected = PARTS.map((part, index) => `${part} ${index + 1}/${PARTS.length}`).join(" · ");
    page.check(["Progress", "进度"], seen.join(" · ") === expected, [expected, expected], seen.join(" · "));
    page.check(
      ["Result", "结果"],
      result.success && JSON.stringify(result.details) === '{"kinds":4}',
      ["success", "成功"],
      result.display,
    );
    haft.tools.registry.unregister("count_trees");

    const { tool, input, begins } = example.slow;
    const stop = new AbortController();
    const onUpdate = () => stop.abort();
    const stopped = await haft.execute(tool, input, { signal: stop.signal, onUpdate });
    page.check(
      [`${tool}, aborted`, `中断 ${tool}`],
      stopped.status === "failed" && stopped.error.code === "cancelled" && textOf(stopped.content).includes(begins),
      ["ended at once, with its output so far", "立即终止，保留此前的输出"],
      stopped.display,
    );
  },
};

export const chainTools = {
  title: ["Chain: several tools are one tool", "工具链：多个工具组成一个工具"],
  async run({ haft, example, page }) {
    const { steps, input, gives } = example.chain;
    const parameters = { type: "object", additionalProperties: true };
    haft.register(createChain({ name: "tour_chain", description: "Run the steps in order", parameters, steps }));
    const result = await haft.execute("tour_chain", input);
    page.print(["Steps", "步骤"], steps.map(({ tool }) => tool).join(" → "));
    page.check(
      ["Result", "结果"],
      result.success && textOf(result.content).includes(gives),
      [gives, gives],
      result.display,
    );
    const denied = await haft.execute("tour_chain", input, { policy: { deny: [required(steps[1]).tool] } });
    page.check(
      ["Step 2 denied", "第 2 步被拒绝"],
      denied.status === "failed" && denied.error.code === "denied" && denied.metadata["stoppedAt"] === 2,
      ["stops there, with the reason", "停在那里，并说明原因"],
      denied.display,
    );
    haft.tools.registry.unregister("tour_chain");
  },
};

export const readStatistics = {
  title: ["Statistics: every call was counted", "统计：每次调用都有记录"],
  async run({ haft, example, page }) {
    const { total, callStats } = haft.tools.stats();
    const log = await haft.calls.log.recent();
    for (const tool of example.tools) {
      const { count = 0, failures = 0 } = callStats[tool.name] ?? {};
      const name = shownName(tool);
      const calls = count === 1 ? "call" : "calls";
      page.print([name, name], [`${count} ${calls}, ${failures} failed`, `${count} 次调用，${failures} 次失败`]);
    }
    page.check(["Tools left", "剩余工具"], total === example.tools.length, [String(total), String(total)]);
    const counted = Object.values(callStats).reduce((sum, { count }) => sum + count, 0);
    page.check(
      ["Log", "日志"],
      log.length > 0 && counted === log.length,
      [`${log.length} calls, as counted`, `${log.length} 次调用，与统计一致`],
      `${counted} ≠ ${log.length}`,
    );
  },
};
