// Agent frameworks in JavaScript as clients: `frameworks.mjs NAME COMMAND [ARG…]`, in the folder of their packages.
// Each opens the command in the way that its documents show, lists the tools, and calls `greet`. What it got is printed
// as one line of JSON: {"tools": […], "said": "…"}.

import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const here = createRequire(`${process.cwd()}/package.json`);
const load = (name) => import(pathToFileURL(here.resolve(name)).href);
const GUEST = { guest: "Ada" };

const FRAMEWORKS = {
  async "ai-sdk"(command, args) {
    const { createMCPClient } = await load("@ai-sdk/mcp");
    const { Experimental_StdioMCPTransport } = await load("@ai-sdk/mcp/mcp-stdio");
    const client = await createMCPClient({ transport: new Experimental_StdioMCPTransport({ command, args }) });
    const tools = await client.tools();
    const said = await tools.greet.execute(GUEST, { messages: [], toolCallId: "1" });
    await client.close();
    return [Object.keys(tools), said];
  },

  async "langchain-js"(command, args) {
    const { MultiServerMCPClient } = await load("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({ mcpServers: { x: { transport: "stdio", command, args } } });
    const tools = await client.getTools();
    const said = await tools.find((tool) => tool.name.endsWith("greet")).invoke(GUEST);
    await client.close();
    return [tools.map((tool) => tool.name), said];
  },

  async "openai-agents-js"(command, args) {
    const { MCPServerStdio } = await load("@openai/agents");
    const server = new MCPServerStdio({ command, args, name: "x" });
    await server.connect();
    const tools = await server.listTools();
    const said = await server.callTool("greet", GUEST);
    await server.close();
    return [tools.map((tool) => tool.name), said];
  },

  async mastra(command, args) {
    const { MCPClient } = await load("@mastra/mcp");
    const client = new MCPClient({ servers: { x: { command, args } } });
    const tools = await client.listTools();
    const said = await tools.x_greet.execute(GUEST);
    await client.disconnect();
    return [Object.keys(tools), said];
  },

  async mcporter(command, args) {
    const program = `${process.cwd()}/node_modules/mcporter/dist/cli.js`;
    const quoted = [command, ...args].map((word) => `'${word}'`).join(" ");
    const run = (...words) => execFileSync(process.execPath, [program, ...words], { encoding: "utf8" });
    const listed = JSON.parse(run("list", "--stdio", quoted, "--name", "x", "--json"));
    const said = run("call", "--stdio", quoted, "--name", "x", "greet", "guest=Ada");
    return [listed.tools.map((tool) => tool.name), said];
  },
};

const [name, command, ...args] = process.argv.slice(2);
const [tools, said] = await FRAMEWORKS[name](command, args);
console.log(JSON.stringify({ tools, said: typeof said === "string" ? said : JSON.stringify(said) }));
process.exit(0);
