// The official TypeScript SDKs as clients of the restaurant: `node typescript.mjs 1|2 COMMAND…`, started in the folder
// whose node_modules holds them. The SDK of the second generation runs in its older mode. Prints one JSON line per check.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const load = createRequire(path.join(process.cwd(), "package.json"));
const [generation, command, ...args] = process.argv.slice(2);
const LIMIT = 15_000;
const KNOWN = { day: "Friday", guests: 4, seat: "garden" };
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const ours = { name: "guest", version: "1" };
const heard = [];

const ANSWERS = {
  "elicitation/create": ({ params }) => {
    if (params.mode === "url") return { action: "accept" };
    const fields = Object.entries(params.requestedSchema.properties);
    return { action: "accept", content: Object.fromEntries(fields.map(([name, field]) => [name, KNOWN[name] ?? field.default])) };
  },
  "sampling/createMessage": () => ({ role: "assistant", content: { type: "text", text: "A poem." }, model: "m" }),
  "roots/list": () => ({ roots: [{ uri: "file:///recipes" }] }),
};
const NOTICES = ["tools/list_changed", "resources/updated", "message"].map((name) => `notifications/${name}`);

function first() {
  const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
  const shapes = load("@modelcontextprotocol/sdk/types.js");
  const byMethod = Object.fromEntries(
    Object.values(shapes)
      .filter((shape) => shape?.shape?.method?.value)
      .map((shape) => [shape.shape.method.value, shape]),
  );
  const client = new Client(ours, { capabilities });
  return { client, transport: new StdioClientTransport({ command, args, env: process.env }), of: (method) => byMethod[method] };
}

function second() {
  const { Client } = load("@modelcontextprotocol/client");
  const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
  const client = new Client(ours, { capabilities, versionNegotiation: { mode: "legacy" } });
  return { client, transport: new StdioClientTransport({ command, args, env: process.env }), of: (method) => method };
}

const { client, transport, of } = generation === "1" ? first() : second();
for (const [method, answer] of Object.entries(ANSWERS)) client.setRequestHandler(of(method), async (request) => answer(request));
for (const method of NOTICES) client.setNotificationHandler(of(method), (notice) => void heard.push(notice));

const call = (name, given = {}, options = {}) =>
  generation === "1"
    ? client.callTool({ name, arguments: given }, undefined, options)
    : client.callTool({ name, arguments: given }, options);
const text = async (...call_) => (await call(...call_)).content[0].text;
const names = async () => (await client.listTools()).tools.map((tool) => tool.name);
const hears = async (name) => {
  while (!heard.some((notice) => notice.method === `notifications/${name}`)) await pause(10);
};

const CHECKS = {
  async handshake() {
    await client.connect(transport);
    assert.ok(client.getServerVersion().name);
    assert.equal(client.getServerCapabilities().tools.listChanged, true);
  },
  send_ping: () => client.ping(),
  async tools() {
    const found = await names();
    for (const name of ["greet", "count", "pay"]) assert.ok(found.includes(name), `${name} in ${found}`);
  },
  async call() {
    assert.match(await text("greet", { guest: "Ada 😀" }), /Ada 😀/);
  },
  async refusal() {
    await assert.rejects(call("no such tool"), (error) => error.code === -32602);
  },
  async progressing() {
    const seen = [];
    await call("count", { plates: 3 }, { onprogress: ({ progress }) => void seen.push(progress) });
    assert.deepEqual(seen.slice(0, 2), [1, 2]); // the SDKs drop the last one when it comes in one read with the result
  },
  async given_up() {
    const control = new AbortController();
    const running = call("count", { plates: 100 }, { signal: control.signal });
    setTimeout(() => control.abort(), 200);
    await assert.rejects(running);
    assert.match(await text("greet", { guest: "Ada" }), /Ada/);
  },
  async rounds() {
    assert.deepEqual((await call("book_table")).structuredContent, KNOWN);
  },
  async page() {
    assert.match(await text("pay"), /Paid/);
  },
  async sampling() {
    assert.equal(await text("praise_dish", { dish: "soup" }), "A poem.");
  },
  async root_list() {
    assert.match(await text("find_recipes"), /file:\/\/\/recipes/);
  },
  async changes() {
    await client.subscribeResource({ uri: "menu://today" });
    await client.setLoggingLevel("info");
    await hears("tools/list_changed");
    heard.length = 0;
    await call("add_dish", { dish: "dolma", made_of: "rice" });
    for (const name of ["tools/list_changed", "resources/updated", "message"]) await hears(name);
    assert.ok((await names()).includes("order_dolma"));
    await client.unsubscribeResource({ uri: "menu://today" });
  },
  async prompts() {
    assert.deepEqual((await client.listPrompts()).prompts.map((prompt) => prompt.name), ["recommend"]);
    const found = await client.getPrompt({ name: "recommend", arguments: { mood: "cosy" } });
    assert.match(found.messages[0].content.text, /cosy/);
  },
  async resources() {
    assert.deepEqual((await client.listResources()).resources.map((one) => one.uri), ["menu://today"]);
    assert.ok((await client.listResourceTemplates()).resourceTemplates.length);
    assert.match((await client.readResource({ uri: "menu://today" })).contents[0].text, /lentils/);
  },
  async completion() {
    const ref = { type: "ref/prompt", name: "recommend" };
    const found = await client.complete({ ref, argument: { name: "mood", value: "c" } });
    assert.deepEqual(found.completion.values, ["cosy"]);
  },
};

for (const [check, work] of Object.entries(CHECKS)) {
  const late = new AbortController();
  const outcome = await Promise.race([
    work().then(
      () => ({ check, ok: true }),
      (error) => ({ check, ok: false, detail: String(error?.message ?? error).split("\n", 1)[0] }),
    ),
    pause(LIMIT, { check, ok: false, detail: "not in time" }, { signal: late.signal }),
  ]);
  late.abort();
  console.log(JSON.stringify(outcome));
}
await client.close();
