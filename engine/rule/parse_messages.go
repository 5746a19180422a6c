package rule

import (
	"github.com/goccy/go-yaml/ast"

	"fettle/engine/message"
)

var messageKeys = []string{"text", "says", "since", "about", "perhaps", "harmless"}

// messages are what programs print where the trap is met.
func (p *parsing) messages(n ast.Node) []message.Message {
	var out []message.Message
	for _, i := range items(n) {
		var m message.Message
		ok := p.entries(i, "a message", func(key string, k, v ast.Node) {
			switch key {
			case "text":
				m.Text = p.str(v, key)
			case "says":
				m.Says = p.str(v, key)
			case "since":
				m.Since = p.str(v, key)
			case "about":
				m.About = p.str(v, key)
			case "perhaps":
				m.Perhaps = p.str(v, key) == "true"
			case "harmless":
				m.Harmless = p.str(v, key) == "true"
			default:
				p.errorf(k, "a message has no key %q%s", key, suggest(key, messageKeys))
			}
		})
		if !ok {
			continue
		}
		if err := message.Check(m); err != nil {
			p.errorf(i, "messages: %v", err)
		}
		out = append(out, m)
	}
	return out
}
