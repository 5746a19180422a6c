package assistant

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const articleURI = "fettle://trap/"

// resources are the articles about traps.
func (d *desk) resources(s *mcp.Server) {
	s.AddResource(&mcp.Resource{Name: "traps", URI: "fettle://traps", Title: "The traps that fettle knows", MIMEType: "text/plain",
		Description: "Names and titles of all traps"}, d.index)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "trap", URITemplate: articleURI + "{name}", Title: "The article about a trap",
		MIMEType: "text/plain", Description: "What happens, how to recognise it, how bad it is, what to do"}, d.read)
}

func (d *desk) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, ok := strings.CutPrefix(req.Params.URI, articleURI)
	if !ok || !trapName.MatchString(name) {
		return nil, mcp.ResourceNotFoundError(visible(req.Params.URI, 200))
	}
	text, err := d.article(ctx, name)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(visible(req.Params.URI, 200))
	}
	return contents(req.Params.URI, text), nil
}

func (d *desk) index(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	doc, _, err := d.document(ctx, "", "list", "--format=json")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	traps, _ := doc["traps"].([]any)
	for _, t := range traps {
		m, _ := t.(map[string]any)
		fmt.Fprintf(&b, "%s: %s\n", visible(fmt.Sprint(m["id"]), 100), visible(fmt.Sprint(m["title"]), 300))
	}
	return contents(req.Params.URI, b.String()), nil
}

func contents(uri, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}
}

// prompts are what people ask most.
func prompts(s *mcp.Server) {
	for _, p := range []struct{ name, title, text string }{
		{"whats-wrong", "What is wrong with this host?",
			"Run check. Explain what is found, worst first: what happens, how bad it is, what to do. For what is fixable show the plan and " +
				"give the command for me to run. Say what could not be inspected."},
		{"safe-to-restart", "Is it safe to restart this host?",
			"Run before_reboot. Give the verdict first, then what would be lost and what to do about it before the restart. Name what " +
				"could not be looked at."},
		{"explain-log", "Explain this log",
			"I will paste a log or an error message. Pass it to why as it is. If a trap matches, explain its article in your own words and " +
				"check this host for it; if none does, say so, and name what stands out without inventing a cause."},
	} {
		s.AddPrompt(&mcp.Prompt{Name: p.name, Title: p.title, Description: p.title},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Description: p.title, Messages: []*mcp.PromptMessage{
					{Role: "user", Content: &mcp.TextContent{Text: p.text}}}}, nil
			})
	}
}
