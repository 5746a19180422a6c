package assistant

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"fettle/internal/means"
)

// calls are what other people's clients ask, and a word of the answer.
var calls = []struct{ tool, args, has string }{
	{"list", `{"search":"bridge-mtu"}`, "A bridge takes its MTU"},
	{"explain", `{"trap":"bridge-mtu"}`, "takes the smallest MTU"},
	{"check", `{"all":true,"limit":5}`, "found"},
	{"why", `{"text":"nf_conntrack: table full, dropping packet"}`, "known trap matches"},
	{"plan", `{"trap":"bridge-mtu"}`, "plan"},
	{"before_reboot", `{}`, "says"},
	{"after_reboot", `{}`, "says"},
	{"history", `{}`, "recorded runs"},
	{"diff", `{}`, "run"},
	{"measure", `{"what":"counters","on":"lo","seconds":2}`, "measured"},
	{"check", `{"host":"--yes"}`, "is not allowed"},
}

// script of PyPI's mcp, the Python SDK.
const python = `
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
async def main():
    async with stdio_client(StdioServerParameters(command=sys.argv[1])) as (r, w):
        async with ClientSession(r, w) as s:
            await s.initialize()
            tools = (await s.list_tools()).tools
            print(json.dumps([t.name for t in tools]))
            for tool, args in json.loads(sys.argv[2]):
                res = await s.call_tool(tool, json.loads(args))
                print(json.dumps(res.content[0].text))
            res = await s.read_resource("fettle://trap/bridge-mtu")
            print(json.dumps(res.contents[0].text))
            print(json.dumps((await s.get_prompt("whats-wrong")).messages[0].content.text))
asyncio.run(main())
`

// The Python SDK's client (pip install mcp) drives every tool.
func TestPythonClient(t *testing.T) {
	means.Long(t, "needs PyPI's mcp")
	py, err := exec.LookPath("python3")
	if err != nil || exec.Command(py, "-c", "import mcp").Run() != nil {
		means.Missing(t, "needs PyPI's mcp: pip install mcp, in a venv that PATH begins with")
	}
	var asked [][]string
	for _, c := range calls {
		asked = append(asked, []string{c.tool, c.args})
	}
	b, _ := json.Marshal(asked)
	c := exec.Command(py, "-c", python, means.Programs(t, "fettle", "fettle-mcp")+"/fettle-mcp", string(b))
	out, err := c.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(calls)+3 {
		t.Fatalf("%v: %.2000s", err, out)
	}
	for i, c := range calls {
		if !strings.Contains(lines[i+1], c.has) {
			t.Errorf("%s %s: %.400s", c.tool, c.args, lines[i+1])
		}
	}
}

// The reference inspector (npm's @modelcontextprotocol/inspector), in CLI mode, drives every tool.
func TestInspector(t *testing.T) {
	means.Long(t, "needs npm's @modelcontextprotocol/inspector")
	inspector, err := exec.LookPath("mcp-inspector")
	if err != nil {
		means.Missing(t, "needs mcp-inspector on PATH: npm install @modelcontextprotocol/inspector")
	}
	server := means.Programs(t, "fettle", "fettle-mcp") + "/fettle-mcp"
	ask := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(inspector, append([]string{"--cli", server}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %.1000s", args, err, out)
		}
		return string(out)
	}
	if out := ask("--method", "tools/list"); strings.Count(out, `"readOnlyHint": true`) != 10 {
		t.Errorf("%.600s", out)
	}
	for _, c := range calls {
		args := []string{"--method", "tools/call", "--tool-name", c.tool}
		var in map[string]any
		if err := json.Unmarshal([]byte(c.args), &in); err != nil {
			t.Fatal(err)
		}
		for k, v := range in {
			b, _ := json.Marshal(v)
			args = append(args, "--tool-arg", k+"="+strings.Trim(string(b), `"`))
		}
		if out := ask(args...); !strings.Contains(out, c.has) {
			t.Errorf("%s %s: %.600s", c.tool, c.args, out)
		}
	}
}
